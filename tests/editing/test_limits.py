"""Edits stay within a run's constraints: they are refused, or chosen within them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from treelab.editing.apply import apply_edits
from treelab.editing.edited import Edited
from treelab.editing.edits import Forbid, Prune, SetSplit, SetThreshold
from treelab.editing.limits import EditRows, without_small_leaves
from treelab.editing.regrow import refit, regrow
from treelab.learners.cart.estimators import CartRegressor
from treelab.trees.constraints import Constraints, violations
from treelab.trees.tree import Tree


def table(n: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((n, 4)).round(2), columns=list("abcd"))
    return X, X["a"] + (X["b"] > 0.4) * X["c"] - 0.5 * X["d"] + rng.normal(0, 0.1, n)


def grown(constraints: Constraints, **settings) -> tuple[Tree, EditRows]:
    X, y = table()
    learner = CartRegressor(
        tune=False, max_leaf_nodes=6, constraints=constraints, **settings
    )
    tree = learner.fit(X, y).tree_
    return tree, EditRows(tree, X, y)


def test_an_edit_that_breaks_a_constraint_is_refused_and_says_which():
    limits = Constraints(allowed={"0": "a, b", "other": "a, b, c"})
    tree, rows = grown(limits)
    with pytest.raises(ValueError, match="'d' may not be tested there"):
        apply_edits(tree, [SetSplit("", "d", 0.5)], rows, limits)
    few = Constraints(min_samples_leaf=30)
    tree, rows = grown(few)
    with pytest.raises(ValueError, match="training rows, fewer than 30"):
        apply_edits(tree, [SetThreshold("", 0.02)], rows, few)
    two = Constraints(max_columns=2)
    tree, rows = grown(two)
    other = next(name for name in "abcd" if name not in tree.columns)
    side = "L" if tree.is_leaf[tree.left[0]] else "R"
    with pytest.raises(ValueError, match="test 3 columns, more than 2"):
        apply_edits(tree, [SetSplit(side, other, 0.5)], rows, two)
    # Edits that break nothing go through, on a tree that broke it before as well.
    free, rows = grown(Constraints())
    limits = Constraints(allowed={"other": "d"})
    assert violations(free, limits)
    side = "R" if free.is_leaf[free.left[0]] else "L"
    edited = apply_edits(free, [Prune(side)], rows, limits)
    assert edited.tree.n_leaves < free.n_leaves


@pytest.mark.parametrize(
    "limits",
    [
        Constraints(allowed={"0": "b", "other": "a, c"}),
        Constraints(together=["a, b", "c, d"]),
        Constraints(max_columns=2),
        Constraints(min_samples_leaf=25),
        Constraints(monotone={"a": "up", "d": "down"}),
    ],
    ids=["allowed", "together", "max_columns", "min_samples_leaf", "monotone"],
)
def test_what_grows_anew_and_takes_the_place_of_a_column_is_within_them(limits):
    tree, rows = grown(limits)
    assert not violations(tree, limits)
    start = Edited.of(tree, limits)
    again = refit(regrow(start, "", rows, 12), rows)
    assert again.n_leaves > 3
    assert not violations(again, limits)
    below = refit(regrow(start, "L", rows, 8), rows)
    assert not violations(below, limits)
    if limits.min_samples_leaf > 1:
        return  # a leaf below the new split may have too few rows, which is refused
    column = next(name for name in tree.columns if name != "b")
    edited = apply_edits(tree, [Forbid("", column)], rows, limits)
    assert column not in edited.tree.columns
    assert not violations(refit(edited, rows), limits)


def test_leaves_of_an_edited_tree_are_put_in_order():
    limits = Constraints(monotone={"c": "down"})  # against what the rows say
    tree, rows = grown(Constraints())
    assert violations(tree, limits)
    edited = apply_edits(tree, [SetThreshold("", float(tree.threshold[0]))], rows)
    edited = replace(edited, constraints=limits)
    assert not violations(refit(edited, rows), limits)


def test_small_leaves_are_cut_but_for_those_that_are_held():
    tree, _ = grown(Constraints())
    least = int(np.sort(tree.n_rows[tree.is_leaf])[1]) + 1
    nothing = np.zeros(tree.n_nodes, dtype=bool)
    cut = without_small_leaves(tree, least, nothing)
    assert cut.n_leaves < tree.n_leaves
    assert cut.n_rows[cut.is_leaf].min() >= least
    assert without_small_leaves(tree, least, ~tree.is_leaf).n_leaves == tree.n_leaves
