"""Scores of several trees on the same rows."""

import numpy as np
import pytest

from tests.figures.small_trees import number_tree, stump_and_more
from treelab.evaluation.metrics import headline, scores
from treelab.evaluation.split_scores import headline_scores


@pytest.mark.parametrize("make", [stump_and_more, number_tree])
def test_each_tree_has_the_headline_score_of_its_own_predictions(make):
    tree, X, y = make()
    task = tree.task
    expected = scores(task, y, tree.predict(X))[headline(task)]
    assert headline_scores([tree, tree], task, X, np.asarray(y)) == [expected] * 2
