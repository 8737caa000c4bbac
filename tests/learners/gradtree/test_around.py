"""Training around what is held fixed: it stays, to the last bit; the rest may move."""

from dataclasses import replace

import numpy as np
import pytest

from tests.editing.tables import COLUMNS, fitted, table
from treelab.learners.common.around import Around
from treelab.learners.gradtree.around import train_around
from treelab.learners.gradtree.settings import GradTreeSettings
from treelab.trees.tree import Tree

QUICK = GradTreeSettings(n_steps=25, n_restarts=2, learning_rate_values=0.2)


def around(tree: Tree, locked, forbidden: str = "") -> Around:
    """All columns but one are allowed; leaves are left as they are."""
    held = np.zeros(tree.n_nodes, dtype=bool)
    held[locked] = True
    allowed = [feature.column != forbidden for feature in tree.features]
    return Around(
        tree,
        held,
        np.tile(allowed, (tree.n_nodes, 1)),
        np.ones(len(tree.classes or (0,))),
        lambda one: one,
    )


@pytest.mark.parametrize("target", ["label", "value"])
def test_locked_splits_stay_and_the_others_move(target):
    frame = table()
    tree = fitted(frame, target, max_leaf_nodes=5)
    splits = np.flatnonzero(~tree.is_leaf)
    locked, free = splits[:2], splits[2:]
    trained = train_around(
        around(tree, locked), (frame[COLUMNS], frame[target], None), QUICK, seed=0
    )
    for name in ("feature", "threshold", "missing_left"):
        assert (getattr(trained, name)[locked] == getattr(tree, name)[locked]).all()
    assert (trained.threshold[free] != tree.threshold[free]).any()
    again = train_around(
        around(tree, locked), (frame[COLUMNS], frame[target], None), QUICK, seed=0
    )
    assert (trained.threshold == again.threshold)[splits].all()


def test_a_forbidden_column_is_never_chosen():
    frame = table()
    tree = fitted(frame[["income", "job", "label"]].assign(age=1.0))  # age is no use
    X = frame[COLUMNS]
    trained = train_around(
        around(tree, [0], forbidden="age"), (X, frame["label"], None), QUICK, seed=1
    )
    assert "age" not in trained.columns


def test_training_lowers_the_error_of_a_bad_threshold():
    frame = table(n_rows=400).dropna()
    tree = fitted(frame, "value", max_leaf_nodes=2)
    column = tree.features[tree.feature[0]].column
    bad = tree.threshold.copy()
    bad[0] = frame[column].quantile(0.95)
    moved = replace(tree, threshold=bad, between=None, missing_rows=None)
    trained = train_around(
        around(moved, []),
        (frame[COLUMNS], frame["value"], None),
        replace(QUICK, n_steps=80),
        seed=0,
    )

    def error(one: Tree) -> float:
        leaf = one.apply(frame[COLUMNS])
        return frame["value"].groupby(leaf).transform("var").mean()

    assert error(trained) < error(moved)


@pytest.mark.parametrize("missing_left", [False, True])
@pytest.mark.parametrize("rate", [0.0, 0.2])
def test_rows_without_a_value_stay_where_a_free_split_sends_them(rate, missing_left):
    frame = table()
    X, y, tree = frame[COLUMNS], frame["value"], fitted(frame, "value")
    side = np.full(tree.n_nodes, missing_left)
    start = replace(tree, missing_left=side, between=None, missing_rows=None)
    rates = {f"learning_rate_{of}": rate for of in ("index", "values", "leaf")}
    settings = replace(QUICK, **rates)
    trained = train_around(around(start, []), (X, y, None), settings, seed=0)
    kept = ~tree.is_leaf & (trained.feature == tree.feature)
    assert kept.any()
    assert (trained.missing_left[kept] == missing_left).all()
    if not rate:
        assert np.array_equal(trained.apply(X), start.apply(X))
