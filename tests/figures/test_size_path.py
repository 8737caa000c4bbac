"""The figure of a path by size."""

import numpy as np
import pandas as pd
import pytest

from tests.figures.small_trees import stump_and_more
from treelab.figures.size_path import size_figure
from treelab.trees.pruning.cost_complexity import cost_complexity_path
from treelab.trees.pruning.size_path import SizePath


def path_of(scores) -> SizePath:
    """A small tree's prunings with these scores, the second chosen."""
    trees = cost_complexity_path(stump_and_more()[0]).trees[::-1][: len(scores)]
    leaves = [tree.n_leaves for tree in trees]
    frame = {"n_leaves": leaves, "score": scores, "standard_error": 0.1}
    return SizePath(trees, pd.DataFrame(frame), 1)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_scores_stand_over_their_leaves_with_errors(mode):
    path = path_of([0.5, 0.7])
    curve, ring = size_figure(path, score_title="macro F1", mode=mode).data
    assert list(curve.x) == [tree.n_leaves for tree in path.trees]
    assert list(curve.y) == [0.5, 0.7]
    assert list(curve.error_y.array) == [0.1, 0.1]
    assert list(ring.y) == [0.7]


def test_trees_without_a_score_are_left_out():
    figure = size_figure(path_of([0.5, np.nan]), score_title="macro F1")
    assert [len(trace.x) for trace in figure.data] == [1]
