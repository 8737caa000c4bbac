"""Mean and standard error of scores by size over data splits."""

import numpy as np
import pandas as pd
import pytest

from treelab.evaluation.comparison import mean_over_splits, split_band
from treelab.evaluation.frontier import frontier_line


def random_line(rng):
    """Trees of random sizes; of some no score is known."""
    leaves = np.sort(rng.choice(np.arange(2, 30), rng.integers(2, 8), replace=False))
    held_out = rng.random(len(leaves))
    held_out[rng.random(len(leaves)) < 0.2] = np.nan
    table = pd.DataFrame({"leaves": leaves, "held_out_score": held_out})
    table["test_score"] = rng.random(len(leaves))
    return frontier_line(table[::-1].reset_index(drop=True), None)


def score_at(line, column, n_leaves):
    """The score of the largest tree with at most so many leaves, or None."""
    found = None
    for _, row in line.table.iterrows():
        if row["leaves"] <= n_leaves and not np.isnan(row[column]):
            found = row[column]
    return found


@pytest.mark.parametrize("column", ["held_out", "test"])
@pytest.mark.parametrize("n_splits", [2, 3, 7])
def test_a_band_is_that_of_each_size_looked_up_one_by_one(column, n_splits):
    rng = np.random.default_rng(n_splits)
    lines = [random_line(rng) for _ in range(n_splits)]
    lines = [line for line in lines if line.table[column].notna().any()]
    band = split_band(lines, column)
    by_leaves = band.set_index("leaves")
    last = None
    for n_leaves in range(1, 35):
        scores = [score_at(line, column, n_leaves) for line in lines]
        if None in scores:
            assert n_leaves not in by_leaves.index
            continue
        expected = (np.mean(scores), np.std(scores, ddof=1) / len(scores) ** 0.5)
        if n_leaves in by_leaves.index:
            last = by_leaves.loc[n_leaves]
        assert last is not None
        assert tuple(last) == pytest.approx(expected)
    assert band["leaves"].is_monotonic_increasing


def test_one_split_alone_has_no_band():
    line = random_line(np.random.default_rng(0))
    assert split_band([line], "test").empty
    unknown = frontier_line(pd.DataFrame({"leaves": [4, 2]}), None)
    assert split_band([line, unknown], "test").empty


def test_the_mean_of_one_score_has_no_error():
    assert mean_over_splits([0.5, 0.7]) == pytest.approx((0.6, 0.1))
    mean, error = mean_over_splits([0.5])
    assert mean == 0.5
    assert np.isnan(error)
