"""Selection: medoids and what prunings score, beside slow and obvious code."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from treelab.learners.common.folds import N_PARTS
from treelab.learners.gradtree.encodings import encode
from treelab.learners.gradtree.hard_tree import HardTree
from treelab.learners.gradtree.selection import TargetRows, fold_sums, medoids
from treelab.trees.pruning import prune_to_size

SIZES = np.array([2, 3, 5, 9])
WEIGHTS = np.array([[1.0, 1.0, 1.0], [0.5, 1.0, 3.0]])


def table(n_classes, seed=0, n_rows=200):
    """A table of numbers, its target, and the encoding without a fifth of the rows."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 4)), columns=list("abcd"))
    value = frame["a"] + frame["b"] * (frame["c"] > 0) + rng.normal(size=n_rows)
    y = value.to_numpy()
    if n_classes:
        y = np.digitize(y, np.quantile(y, [0.5, 0.9])).astype(np.int64)
    held_out = np.arange(n_rows) % 5 == 0
    task = "multiclass" if n_classes else "regression"
    encoding = encode(frame, y, held_out, task=task, seed=0)
    classes = ("low", "middle", "high") if n_classes else None
    weights = WEIGHTS if n_classes else np.ones((1, 1))
    return TargetRows(y, classes, weights), encoding


def grown(target, encoding, n_trees):
    """Trees of bootstrap samples of the rows that are not held out."""
    own = np.flatnonzero(~encoding.held_out)
    make = DecisionTreeClassifier if target.classes else DecisionTreeRegressor
    trees = []
    for seed in range(n_trees):
        rows = np.random.RandomState(seed).choice(own, len(own))
        tree = make(max_leaf_nodes=9, random_state=seed)
        tree.fit(encoding.seen[rows], target.y[rows])
        trees.append(HardTree.of_sklearn(tree.tree_))
    return trees


def slow_prediction(tree, target, x, y):
    """Mean of the indicators, or values, of the rows in each row's leaf, (n, C)."""
    leaf = tree.apply(x)
    indicators = np.eye(3)[y] if target.classes else y[:, None]
    return np.array([indicators[leaf == own].mean(0) for own in leaf])


@pytest.mark.parametrize("by_vote", [True, False])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_classes", [0, 3])
def test_the_medoid_agrees_most_with_the_vote_of_all(n_classes, seed, by_vote):
    target, encoding = table(n_classes, seed)
    trees = grown(target, encoding, 6)
    rows = np.flatnonzero(~encoding.held_out)
    x, y = encoding.seen[rows], target.y[rows]
    predicted = [slow_prediction(tree, target, x, y) for tree in trees]
    vote = np.mean(predicted, axis=0)
    if not by_vote:
        vote = np.eye(3)[y] if n_classes else y[:, None]
    leaves = [tree.apply(encoding.seen) for tree in trees]
    chosen = medoids(target, trees, leaves, rows, by_vote=by_vote)
    if not n_classes:
        assert chosen == [np.argmin([((p - vote) ** 2).mean() for p in predicted])]
        return
    for weights, place in zip(WEIGHTS, chosen, strict=True):
        common = (vote * weights).argmax(1)
        agreement = [
            f1_score(common, (p * weights).argmax(1), average="macro")
            for p in predicted
        ]
        assert agreement[place] == pytest.approx(max(agreement))


def pruned(tree, target, encoding, size):
    """The tree of the rows that are not held out, over encoded columns, pruned."""
    own = ~encoding.held_out
    codes = None if target.classes is None else (0, 1, 2)
    shape = tree.shape(encoding.encoder, target.n_outputs, codes)
    shape = shape.with_rows(frame_of(encoding.seen[own]), target.y[own])
    return prune_to_size(shape, size)


def frame_of(x):
    """Encoded rows as the table that a tree over encoded columns reads."""
    return pd.DataFrame(x.astype(float), columns=list("abcd"))


def retained(target, trees, encoding, *, by_vote):
    """The trees, for each weighting, that a plan is scored by."""
    if by_vote:  # the mean of all
        return [range(len(trees))] * len(target.weights)
    rows = np.flatnonzero(~encoding.held_out)
    leaves = [tree.apply(encoding.seen) for tree in trees]
    return [[own] for own in medoids(target, trees, leaves, rows, by_vote=False)]


def counted(y, predicted):
    """Rows of each class that are predicted as it; rows of it plus those predicted."""
    is_class, as_class = np.eye(3)[y], np.eye(3)[predicted]
    return np.stack([(is_class * as_class).sum(0), (is_class + as_class).sum(0)])


@pytest.mark.parametrize("by_vote", [True, False])
@pytest.mark.parametrize("seed", range(2))
def test_classes_are_counted_as_by_pruning_each_tree_and_scoring_it(seed, by_vote):
    target, encoding = table(3, seed)
    trees = grown(target, encoding, 4)
    part = np.arange(len(target.y)) % 2
    sums = fold_sums(target, trees, encoding, part, SIZES, by_vote=by_vote)
    assert sums.shape == (N_PARTS, len(WEIGHTS), len(SIZES), 2, 3)
    assert not sums[2:].any()
    parts = [np.flatnonzero(encoding.held_out & (part == own)) for own in range(2)]
    places = retained(target, trees, encoding, by_vote=by_vote)
    for z, size in enumerate(SIZES):
        cut = [pruned(tree, target, encoding, size) for tree in trees]
        assert max(tree.n_leaves for tree in cut) <= size
        for part, of_part in zip(parts, sums):
            x, y = frame_of(encoding.seen[part]), target.y[part]
            for w, weights in enumerate(WEIGHTS):
                predicted = [
                    (cut[own].class_counts[cut[own].apply(x)] * weights).argmax(1)
                    for own in places[w]
                ]
                expected = np.mean([counted(y, own) for own in predicted], axis=0)
                np.testing.assert_allclose(of_part[w, z], expected)
                hits, both = counted(y, predicted[0])
                np.testing.assert_allclose(
                    2 * hits / np.maximum(both, 1),
                    f1_score(
                        y, predicted[0], average=None, labels=range(3), zero_division=0
                    ),
                )


@pytest.mark.parametrize("by_vote", [True, False])
def test_values_are_summed_as_by_pruning_each_tree_and_measuring_its_errors(by_vote):
    target, encoding = table(0)
    trees = grown(target, encoding, 3)
    part = np.arange(len(target.y)) % N_PARTS
    sums = fold_sums(target, trees, encoding, part, SIZES, by_vote=by_vote)
    rows = np.flatnonzero(~encoding.held_out)
    (places,) = retained(target, trees, encoding, by_vote=by_vote)
    held_out = encoding.held_out
    y, x = target.y[held_out], frame_of(encoding.seen[held_out])
    of_mean = ((y - target.y[rows].mean()) ** 2).sum()
    for z, size in enumerate(SIZES):
        errors = []
        for place in places:
            tree = pruned(trees[place], target, encoding, size)
            leaf = tree.apply(frame_of(encoding.seen[rows]))
            mean = {own: target.y[rows][leaf == own].mean() for own in np.unique(leaf)}
            predicted = np.array([mean[own] for own in tree.apply(x)])
            errors.append(((y - predicted) ** 2).sum())
        error, total = sums[:, 0, z, :, 0].sum(0)
        assert error == pytest.approx(np.mean(errors))
        assert total == pytest.approx(of_mean)


@pytest.mark.parametrize("n_classes", [0, 3])
def test_held_out_rows_alone_in_a_branch_are_predicted_as_beside_it(n_classes):
    target, encoding = table(n_classes)
    encoding.seen[encoding.held_out, 3] = -10  # no other row has less than -9 there
    inner, leaf = 3, 4
    tree = HardTree.complete(
        np.array([0] + [3] * (inner - 1)), np.array([0.0] + [-9.0] * (inner - 1))
    )
    assert tree.n_leaves == leaf
    sizes, part = np.array([2, leaf]), np.zeros(len(target.y), dtype=int)
    sums = fold_sums(target, [tree], encoding, part, sizes, by_vote=True)
    np.testing.assert_allclose(sums[:, :, 0], sums[:, :, 1])
