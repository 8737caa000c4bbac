"""All trees of a depth: none is left out, each has its score."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

from treelab.data.encoding import candidate_thresholds
from treelab.evaluation import rashomon_enumeration as module
from treelab.evaluation.metrics import scores
from treelab.evaluation.rashomon_enumeration import (
    ClassSums,
    Splits,
    ValueSums,
    all_trees,
    best_trees,
    structure,
)
from treelab.trees.feature import Feature
from treelab.trees.tree import Tree


def every_tree(x, cuts, rows, depth):
    """All trees over some rows, as sets of leaves (tuples of rows), by plain loops.

    Each is a pair: columns tested depth first, and the leaves left to right.
    """
    trees = {((None,), (tuple(rows),))}
    if depth:
        for j, t in cuts:
            left = [i for i in rows if x[i, j] <= t]
            right = [i for i in rows if x[i, j] > t]
            if left and right:
                sides = [every_tree(x, cuts, side, depth - 1) for side in (left, right)]
                for (one, leaves), (other, more) in product(*sides):
                    trees.add(((j, *one, *other), leaves + more))
    return trees


def label(y, leaf):
    return np.bincount(y[list(leaf)]).argmax()


def is_small(columns, leaves, y) -> bool:
    """Whether no two sibling leaves predict one class; columns are depth first."""
    at = 0

    def walk(place):
        nonlocal at
        if columns[place] is None:
            at += 1
            return place + 1, label(y, leaves[at - 1]), True
        place, one, fine = walk(place + 1)
        place, other, good = walk(place)
        return place, -1, fine and good and not (one == other >= 0)

    return walk(0)[2]


def expected(x, y, cuts, depth):
    """Score of each tree with a split, by a prediction for each row."""
    found = {}
    for columns, leaves in every_tree(x, cuts, range(len(x)), depth):
        if len(leaves) > 1 and is_small(columns, leaves, y):
            predicted = np.empty(len(y), dtype=int)
            for leaf in leaves:
                predicted[list(leaf)] = label(y, leaf)
            score = scores("multiclass", y, predicted)["macro_f1"]
            found[columns, leaves] = score
    return found


def problem(seed, n_classes, n=40, n_values=4, n_columns=3):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, n_values, (n, n_columns)).astype(float)
    y = (x[:, 0] + x[:, 1] + rng.integers(0, 3, n)).astype(int) % n_classes
    return x, np.unique(y, return_inverse=True)[1]


def own_tree(n_columns, n_classes) -> Tree:
    return Tree.complete(
        tuple(Feature(f"x{j}", fill=0.0) for j in range(n_columns)),
        np.array([0]),
        np.array([0.5]),
        np.zeros(1, dtype=bool),
        np.full((2, n_classes), 1 / n_classes),
        classes=tuple(range(n_classes)),
    )


@pytest.mark.parametrize(
    ("seed", "n_classes", "n_values", "depth"),
    [(0, 2, 2, 2), (1, 2, 4, 2), (2, 3, 3, 2), (3, 2, 2, 3), (4, 3, 2, 3)],
)
def test_the_set_is_what_trying_every_tree_finds(
    monkeypatch, seed, n_classes, n_values, depth
):
    x, y = problem(seed, n_classes, n_values=n_values)
    monkeypatch.setattr(module, "MOST_TREES", 10**6)
    own = own_tree(x.shape[1], n_classes)
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])])
    found = all_trees(own, (frame, y, None), np.ones(n_classes), depth, 100)
    cutpoints = candidate_thresholds(x, 100)
    cuts = list(zip(cutpoints.feature.tolist(), cutpoints.threshold.tolist()))
    brute = expected(x, y, cuts, depth)
    best = max(brute.values())
    good = {key: s for key, s in brute.items() if s >= best - 0.05 - 1e-12}
    ours = {}
    for tree, score in zip(found.trees, found.score):
        columns = tuple(None if j < 0 else j for j in tree.feature.tolist())
        leaf = tree.apply(frame)
        parts = (np.flatnonzero(leaf == i) for i in np.flatnonzero(tree.is_leaf))
        ours[columns, tuple(tuple(part.tolist()) for part in parts)] = score
        measured = scores("multiclass", y, tree.predict(frame))["macro_f1"]
        assert score == pytest.approx(measured)  # not copied
    assert len(ours) == len(found) > 1
    assert ours.keys() == good.keys()
    assert all(ours[key] == pytest.approx(good[key]) for key in good)
    assert found.complete is not None
    assert found.complete.n_trees == len(brute)  # no split into two leaves of one class
    assert found.complete.above < found.score.min()


@pytest.mark.parametrize("task", ["classes", "values"])
def test_rows_of_whole_weights_make_the_set_that_rows_so_often_make(task):
    x, y = problem(2, 3)
    own, columns = own_tree(3, 3), [f"x{j}" for j in range(3)]
    if task == "values":
        own = replace(own, classes=None, value=np.zeros((3, 1)))
        y = y + np.linspace(0, 0.5, len(y))
    times = np.random.default_rng(0).integers(1, 4, len(y))
    frame, ones = pd.DataFrame(x, columns=columns), np.ones(own.value.shape[1])
    weighted = all_trees(own, (frame, y, times.astype(float)), ones, 2, 100)
    often = frame.loc[frame.index.repeat(times)], np.repeat(y, times), None
    repeated = all_trees(own, often, ones, 2, 100)
    assert len(weighted) == len(repeated) > 1

    def named(trees):
        """Scores, masses and leaves by the leaf of each row."""
        return {
            structure(tree, tree.apply(frame)): (score, tree.mass, tree.value)
            for tree, score in zip(trees.trees, trees.score)
        }

    expected = named(repeated)
    for key, (score, mass, value) in named(weighted).items():
        assert score == pytest.approx(expected[key][0])
        np.testing.assert_allclose(mass, expected[key][1])
        np.testing.assert_allclose(value, expected[key][2])
    assert weighted.tree.n_rows[0] == len(frame)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_by_costs_the_set_is_that_of_all_trees_whose_leaves_cost_least(n_classes):
    x, y = problem(3, n_classes, n_values=3)
    costs = np.array([[0, 1, 7], [2, 0, 1], [3, 9, 0.0]])[:n_classes, :n_classes]
    own = own_tree(3, n_classes)
    frame = pd.DataFrame(x, columns=["x0", "x1", "x2"])
    ones = np.ones(n_classes)
    found = all_trees(own, (frame, y, None), ones, 2, 100, costs=costs)
    assert found.complete.by_costs
    alone = costs[y].sum(0).min()
    for tree, score in zip(found.trees, found.score):
        predicted = tree.predicted_class[tree.apply(frame)]
        assert score == pytest.approx(1 - costs[y, predicted].sum() / alone)
    cuts = candidate_thresholds(x, 100)
    cuts = list(zip(cuts.feature.tolist(), cuts.threshold.tolist()))
    saved = {}
    for _, leaves in every_tree(x, cuts, range(len(x)), 2):
        if len(leaves) > 1:
            cost = sum(costs[y[list(leaf)]].sum(0).min() for leaf in leaves)
            saved[leaves] = 1 - cost / alone
    assert found.score[0] == pytest.approx(max(saved.values()))
    least = max(saved.values()) - 0.05 - 1e-9
    good = {round(s, 9) for s in saved.values() if s >= least}
    assert {round(s, 9) for s in found.score} == good


def test_where_the_set_is_too_large_it_is_complete_above_a_score():
    x, y = problem(1, 2)
    cuts = candidate_thresholds(x, 100)
    splits = Splits((cuts.right(x).T == 0), cuts.feature)
    sums = ClassSums(y, None, np.ones(2))
    everything = best_trees(splits, sums, 2, tolerance=1.0, most=10**6)
    some = best_trees(splits, sums, 2, tolerance=1.0, most=25)
    assert len(some.trees) <= 25
    assert some.above == pytest.approx(everything.score[25])
    assert len(some.trees) == (everything.score > some.above + 1e-12).sum()
    twice = Splits(np.tile(splits.left, (2, 1)), np.arange(2 * len(splits.left)))
    with pytest.raises(ValueError, match="More than 1 trees score"):
        best_trees(twice, sums, 2, tolerance=1.0, most=1)


def test_small_leaves_are_left_out_and_values_are_scored_by_r2():
    x, codes = problem(5, 3)
    y = codes + np.linspace(0, 0.5, len(codes))
    cuts = candidate_thresholds(x, 100)
    splits = Splits((cuts.right(x).T == 0), cuts.feature)
    few = {"tolerance": 0.1, "most": 10**6}
    found = best_trees(splits, ValueSums(y, None), 2, min_samples_leaf=6, **few)
    every = best_trees(splits, ValueSums(y, None), 2, **few)
    assert 0 < len(found.trees) < len(every.trees)
    for (root, left, right), score in zip(every.trees, every.score):
        predicted = np.empty_like(y)
        for side, below in ((splits.left[root], left), (~splits.left[root], right)):
            parts = [side]
            if below >= 0:
                at = splits.left[below]
                parts = [side & at, side & ~at]
            for part in parts:
                predicted[part] = y[part].mean()
        assert score == pytest.approx(scores("regression", y, predicted)["r2"])


def test_too_many_pairs_are_refused(monkeypatch):
    x, y = problem(6, 2)
    monkeypatch.setattr("treelab.evaluation.rashomon_enumeration.MOST_PAIRS", 10)
    own = own_tree(x.shape[1], 2)
    frame = pd.DataFrame(x, columns=["x0", "x1", "x2"])
    with pytest.raises(ValueError, match="too many trees of depth 2"):
        all_trees(own, (frame, y, None), np.ones(2), 2, 8)
