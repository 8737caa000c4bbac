"""A tree's leaves as clusters."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score, homogeneity_score

from tests.figures.small_trees import stump_and_more, tree_of
from treelab.evaluation.routing import leaf_purity, rows_passing


def test_leaves_that_hold_one_class_each_tell_all_of_it():
    tree, X, y = stump_and_more()
    names, code = np.unique(y, return_inverse=True)
    found = leaf_purity(tree, names, rows_passing(tree.parent, tree.apply(X), code, 3))
    assert found.leaves["purity"].tolist() == [1, 1, 1]
    assert found.leaves["label"].tolist() == ["small", "rough", "fine"]
    assert found.purity == 1
    assert found.one_leaf == 18 / 40
    assert found.information == pytest.approx(found.entropy)
    assert found.adjusted == pytest.approx(1)


@pytest.mark.parametrize("seed", range(3))
def test_purity_and_information_are_those_of_the_rows(seed):
    rng = np.random.default_rng(seed)
    tree = tree_of(3, seed=seed)
    leaves = np.flatnonzero(tree.is_leaf)[:5]  # others get no row
    leaf = rng.choice(leaves, 70)
    code = (leaf % 3 + (rng.random(70) < 0.3)) % 3
    found = leaf_purity(tree, list("abc"), rows_passing(tree.parent, leaf, code, 3))
    right = [np.bincount(code[leaf == each]).max() for each in np.unique(leaf)]
    assert found.purity == pytest.approx(sum(right) / 70)
    known = found.information / found.entropy
    assert known == pytest.approx(homogeneity_score(code, leaf))
    assert found.adjusted == pytest.approx(adjusted_mutual_info_score(code, leaf))
    assert found.rows.to_numpy().sum() == 70
    assert set(found.leaves.index) == set(leaf)


def test_what_leaves_hold_by_chance_is_said_beside_what_they_hold():
    """Of leaves drawn at random 16 hold a third of the bits of 60 rows."""
    rng, tree = np.random.default_rng(0), tree_of(4, seed=0)
    known, by_chance = [], []
    for _ in range(20):
        leaf = rng.choice(np.flatnonzero(tree.is_leaf), 60)
        rows = rows_passing(tree.parent, leaf, rng.integers(0, 3, 60), 3)
        found = leaf_purity(tree, list("abc"), rows)
        known.append(found.information)
        by_chance.append(found.by_chance)
    assert np.mean(known) > 0.4
    assert np.mean(by_chance) == pytest.approx(np.mean(known), abs=0.05)
    assert found.sentences("rows").endswith(f"; chance level {by_chance[-1]:.2f}.")
