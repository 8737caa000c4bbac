import json

import numpy as np
import pandas as pd
import pytest

from benchmarks.__main__ import main
from benchmarks.runner import splits


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.random(80), "kind": rng.choice(["x", "y"], 80)})
    frame["size"] = 3 * frame["a"] + (frame["kind"] == "x")
    frame.to_csv(tmp_path / "one.csv", index=False)
    entry = {"name": "one", "file": "one.csv", "task": "regression", "target": "size"}
    entry |= {"categorical": ["kind"], "papers": ["get"], "reference": {"get": 0.5}}
    (tmp_path / "manifest.json").write_text(json.dumps([entry]))
    return tmp_path


@pytest.mark.slow
def test_the_command_scores_trees_and_the_forest_on_the_same_rows(folder, capsys):
    out = folder / "out.jsonl"
    command = ["get", "--data", str(folder), "--trials", "1"]
    command += ["--contenders", "get-quick,get-linear-quick,cart-tuned,random-forest"]
    assert main([*command, "--out", str(out)]) == 0
    assert "R2" in capsys.readouterr().out
    written = json.loads(out.with_suffix(".summary.json").read_text())["one"]
    assert written["get (paper)"] == 0.5
    assert min(written["get-linear-quick"], written["random-forest"]) > 0.8


def test_a_quarter_of_the_rows_is_the_test():
    train, test = next(splits(np.arange(80.0), "quarters", 1))
    assert len(test) == 20
    assert not set(train) & set(test)
