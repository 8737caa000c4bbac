"""The knee of a pruning path."""

import pandas as pd
import pytest

from treelab.evaluation.frontier import knee, knee_of

SPLITS = [15, 9, 4, 0]
SCORES = [0.90, 0.895, 0.893, 0.5]


def test_the_knee_is_the_smallest_tree_within_the_tolerance():
    assert knee(SPLITS, SCORES) == 2
    assert knee(SPLITS, SCORES, tolerance=0.001) == 0


def test_the_knee_passes_over_scores_that_are_missing():
    assert knee([3, 2, 1], [0.9, 0.9, float("nan")]) == 1
    with pytest.raises(ValueError, match="at least one score"):
        knee([1], [float("nan")])


def test_the_less_of_a_loss_the_better():
    table = pd.DataFrame({"valid_loss": [0.2, 0.205, 0.9], "leaves": [8, 4, 2]})
    assert knee_of(table) == 1
