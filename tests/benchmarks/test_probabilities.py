"""``benchmarks probabilities``: calibration error by hand, and results that go on."""

import json

import numpy as np
import pandas as pd
import pytest

from benchmarks.__main__ import main
from benchmarks.probabilities import calibration_bins, calibration_error


def test_the_calibration_error_is_that_of_plain_loops():
    rng = np.random.default_rng(0)
    first = rng.random(500)
    proba = np.stack([first, 1 - first], axis=1)
    truth = rng.integers(2, size=500)
    total = 0.0
    for low in np.arange(10) / 10:
        here = [
            (max(p), int(np.argmax(p)) == t)
            for p, t in zip(proba.tolist(), truth)
            if low <= max(p) < low + 0.1
        ]
        if here:
            sure, right = np.mean(here, axis=0)
            total += len(here) / 500 * abs(sure - right)
    bins = calibration_bins(proba, truth)
    assert calibration_error(bins) == pytest.approx(total)
    halves = [calibration_bins(proba[k::2], truth[k::2]) for k in (0, 1)]
    assert calibration_error(sum(halves)) == pytest.approx(total)


@pytest.mark.slow
def test_it_fits_what_its_file_lacks_and_prints_what_is_in_it(tmp_path, capsys):
    rng = np.random.default_rng(0)
    x = rng.normal(size=120)
    label = np.where(x + rng.normal(size=120) / 2 > 0, "yes", "no")
    pd.DataFrame({"x": x, "y": label}).to_csv(tmp_path / "t.csv", index=False)
    entry = {"name": "t", "file": "t.csv", "task": "binary", "target": "y"}
    (tmp_path / "manifest.json").write_text(json.dumps([entry]))
    out = tmp_path / "out.jsonl"
    asked = ["probabilities", "--data", str(tmp_path), "--out", str(out)]
    asked += ["--trials", "1", "--contenders"]
    assert main([*asked, "cart"]) == 0
    assert main([*asked, "cart,xgboost"]) == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["contender"] for row in rows] == ["cart", "xgboost"]
    cart = rows[0]
    assert cart["log_loss"] < cart["baseline"]
    assert np.sum(cart["bins"][0]) == 24
    assert "class frequencies" in capsys.readouterr().out
