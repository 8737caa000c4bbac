"""What rows say about a leaf."""

import numpy as np
import pytest

from tests.figures.small_trees import number_tree, stump_and_more
from treelab.evaluation.evidence import answers_alone, leaf_evidence
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.feature import Feature


def test_a_leaf_is_right_as_often_as_its_rows_have_its_class():
    tree, X, y = stump_and_more()
    truth = y.copy()
    truth[:5] = "fine"
    found = leaf_evidence(tree, 1, X, truth)
    assert (found.n_rows, found.n_total, found.right) == (10, 40, 0.5)


def test_a_number_leaf_tells_its_mean_error():
    tree, X, y = number_tree()
    found = leaf_evidence(tree, 1, X, y)  # rows 0 to 19 weigh 0 to 3.8 kg, it says 2
    assert found.n_rows == 20
    assert found.error == pytest.approx(abs(y[:20] - 2).mean())


def test_a_leaf_that_no_row_reaches_has_no_rate():
    tree, X, y = stump_and_more()
    assert leaf_evidence(tree, 1, X[20:], y[20:]).right is None


def test_a_split_gives_no_answer_to_judge():
    tree, X, y = stump_and_more()
    with pytest.raises(ValueError, match="Node 0 asks"):
        leaf_evidence(tree, 0, X, y)


def test_answers_of_a_model_on_top_are_judged_where_they_are_given():
    tree, X, y = stump_and_more()
    assert leaf_evidence(tree, 1, X, y, says=["fine"] * len(X)).right == 0


@pytest.mark.parametrize("classes", [("a", "b"), ("a", "b", "c")])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_tree_alone_says_what_it_says_when_taken_out(classes, seed):
    rng = np.random.default_rng(seed)
    n_outputs = 1 if len(classes) == 2 else len(classes)
    ensemble = WeightedTrees(
        (Feature("radius"), Feature("texture")),
        rng.integers(2, size=(9, 3)),
        rng.uniform(0, 30, (9, 3)),
        np.ones((9, 3), dtype=bool),
        rng.normal(size=(9, 4, n_outputs)),
        rng.normal(size=(9, 4)),
        classes=classes,
    )
    row = stump_and_more()[1].iloc[[17]]
    index = np.array([8, 0, 3])
    alone = [ensemble.estimator(e).predict(row)[0] for e in index]
    assert answers_alone(ensemble, row, index).tolist() == alone
