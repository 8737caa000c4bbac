"""What rows say about a leaf."""

import pytest

from tests.figures.small_trees import number_tree, stump_and_more
from treelab.evidence import leaf_evidence


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
