"""A large table is measured step by step."""

import pickle

import pytest

from benchmarks import large, pages
from benchmarks.large import TARGET, large_table


def test_the_table_has_the_shape_that_was_asked_for():
    frame = large_table(500, 13, 4)
    assert frame.shape == (500, 13)
    assert frame[TARGET].nunique() == 4
    assert frame.select_dtypes("number").shape[1] == 9
    assert frame.equals(large_table(500, 13, 4))


@pytest.fixture
def in_one_process(monkeypatch):
    """Take all steps but training here: a process for each takes long to start."""
    monkeypatch.setenv("TREELAB_HOME", "")  # put back in the end, as is the other
    monkeypatch.setenv("TREELAB_SLOTS", "0")
    monkeypatch.setattr(pages, "N_WARM", 1)
    apart = large._measured

    def measured(step, *work):
        if step == "train cart":
            return apart(step, *work)
        result, took = large._timed(*pickle.loads(pickle.dumps(work)))
        return result, {"step": step, **took}

    monkeypatch.setattr(large, "_measured", measured)


@pytest.mark.slow
def test_each_step_has_its_time_and_memory(in_one_process, capsys):
    table = large.run_large(400, 6, 3, ["cart"], "parquet", keeps_caches=True)
    steps = table["step"].tolist()
    assert steps[:3] == ["write", "read and store", "check and profile"]
    assert {
        "train cart",
        "data columns",
        "data",
        "tree cart",
        "tree cart Alternatives",
    } <= set(steps)
    assert (table["gigabytes"] > 0).all()
    assert "400 rows x 6 columns, 3 classes" in capsys.readouterr().out


@pytest.mark.slow
def test_a_text_is_measured_without_learners_and_caches(in_one_process):
    table = large.run_large(400, 6, 3, [], "csv", keeps_caches=False)
    assert {"write", "read and store", "data columns"} <= set(table["step"])
    assert (table["gigabytes"] > 0).all()
