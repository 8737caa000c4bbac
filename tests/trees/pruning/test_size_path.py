"""SizePath: saving, choosing by size, and the one-standard-error rule."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from treelab.trees.feature import Feature
from treelab.trees.io import load
from treelab.trees.pruning import SizePath, within_one_standard_error
from treelab.trees.tree import Tree


def complete(depth: int) -> Tree:
    """A complete tree on one column, its leaves numbered."""
    n = 2**depth - 1
    return Tree.complete(
        (Feature("x", unit="mm"),),
        np.zeros(n, int),
        np.linspace(1, 2, n),
        np.ones(n, bool),
        np.arange(n + 1.0)[:, None],
        notes=(f"depth {depth}",),
    )


@pytest.fixture
def path() -> SizePath:
    """Trees of 2, 4 and 8 leaves; the second is chosen."""
    scores = pd.DataFrame(
        {
            "n_leaves": [3, 6, 8],
            "score": [0.5, np.nan, 0.75],
            "standard_error": [0.1, np.nan, 0.01],
        }
    )
    return SizePath(tuple(complete(d) for d in (1, 2, 3)), scores, 1)


def test_a_saved_path_comes_back(path, tmp_path):
    path.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert isinstance(loaded, SizePath)
    assert loaded.chosen == 1
    pd.testing.assert_frame_equal(loaded.scores, path.scores)
    X = pd.DataFrame({"x": np.linspace(0, 3, 50)})
    for tree, other in zip(path.trees, loaded.trees, strict=True):
        assert other.notes == tree.notes
        assert repr(other.features) == repr(tree.features)  # a NaN equals nothing
        assert (other.predict(X) == tree.predict(X)).all()


@pytest.mark.parametrize(("n_leaves", "found"), [(2, 2), (3, 2), (7, 4), (99, 8)])
def test_the_largest_tree_that_is_small_enough_is_found(path, n_leaves, found):
    assert path.at(n_leaves).n_leaves == found


def test_no_tree_is_small_enough_for_one_leaf(path):
    with pytest.raises(ValueError, match="none has at most 1"):
        path.at(1)


def test_the_target_is_named_in_each_tree(path):
    named = path.with_target("weight", target_unit="kg")
    assert {(tree.target, tree.target_unit) for tree in named.trees} == {
        ("weight", "kg")
    }
    assert named.tree.n_leaves == path.tree.n_leaves == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"trees": ()}, "one row of scores for each tree"),
        ({"chosen": 3}, "chosen must be from 0 to 2"),
        ({"trees": (complete(2), complete(1), complete(3))}, "must ascend"),
        ({"scores": pd.DataFrame({"score": [1, 2, 3]})}, "lacks the columns n_leaves"),
    ],
)
def test_parts_that_do_not_fit_are_refused(path, change, message):
    with pytest.raises(ValueError, match=message):
        replace(path, **change)


def slow_choice(fold_scores) -> int:
    """The first size whose mean loss against the best is within its error."""
    n_folds = len(fold_scores[0])
    means = [sum(row) / n_folds for row in fold_scores]
    best = fold_scores[means.index(max(means))]
    for size, row in enumerate(fold_scores):
        behind = [b - own for b, own in zip(best, row)]
        mean = sum(behind) / n_folds
        variance = sum((b - mean) ** 2 for b in behind) / (n_folds - 1)
        if mean <= (variance / n_folds) ** 0.5:
            return size
    raise AssertionError


@pytest.mark.parametrize("seed", range(20))
def test_the_choice_is_the_smallest_within_one_standard_error(seed):
    rng = np.random.default_rng(seed)
    fold_scores = np.linspace(0, 0.5, 12)[:, None] ** 0.2 + rng.normal(
        0, 0.05, (12, int(rng.integers(2, 8)))
    )
    chosen, error = within_one_standard_error(fold_scores)
    assert chosen == slow_choice(fold_scores.tolist())
    n_folds = fold_scores.shape[1]
    assert error == pytest.approx(fold_scores.std(1, ddof=1) / np.sqrt(n_folds))


def test_what_is_hard_for_all_sizes_alike_does_not_blur_the_choice():
    hard = np.array([0.0, 0.2, 0.4, 0.1, 0.3])
    gap = np.array([0.05, 0.06, 0.05, 0.06, 0.05])
    assert within_one_standard_error(np.stack([hard, hard + gap]))[0] == 1


def test_one_fold_has_no_error_and_the_best_wins():
    chosen, error = within_one_standard_error(np.array([[0.5], [0.9], [0.7]]))
    assert chosen == 1
    assert error.tolist() == [0, 0, 0]
