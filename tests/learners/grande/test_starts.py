"""Where GRANDE's trees start: greedy trees, and complete ones that equal them."""

import numpy as np
import pytest
import torch
from sklearn.tree import DecisionTreeClassifier

from treelab.learners.common.objective import ClassObjective
from treelab.learners.grande.network import Rows
from treelab.learners.grande.settings import GrandeSettings
from treelab.learners.grande.starts import LEAD, GreedyTree, Grower, draw_starts
from treelab.ops.select import chosen_split


def rows(n_classes, n=300, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 6)).astype(np.float32)
    score = x[:, 0] - x[:, 3] * (x[:, 1] > 0)
    if n_classes == 0:
        return x, score.astype(np.float64)
    return x, np.digitize(
        score, np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1])
    )


def walk(feature, threshold, row):
    """Leaf of a complete tree that one row reaches; where nothing is split, left."""
    node = 0
    while node < len(feature):
        right = feature[node] >= 0 and row[feature[node]] > threshold[node]
        node = 2 * node + 1 + right
    return node - len(feature)


def mean_prediction(trees, x):
    """Mean over the trees of the reached leaves' values, (n, C)."""
    values = [
        [tree.value[walk(tree.feature, tree.threshold, row)] for row in x]
        for tree in trees
    ]
    return np.mean(values, axis=0)


@pytest.mark.parametrize("grow", [Grower.forest, Grower.boosted])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_the_trees_together_predict_rows_well_that_they_did_not_see(grow, n_classes):
    x, y = rows(n_classes, 600)
    weight = np.repeat([1.0, 0.0], [400, 200])
    columns = np.tile(np.arange(6), (40, 1))
    trees = grow(Grower(x, y, weight, n_classes, depth=4), columns, seed=0)
    predicted = mean_prediction(trees, x[400:])
    if n_classes == 0:
        unexplained = np.square(predicted[:, 0] - y[400:]).mean() / y[400:].var()
        assert unexplained < 0.5
        return
    if n_classes == 2:
        assert predicted.shape[1] == 1
        predicted = np.concatenate([-predicted, predicted], 1)
    assert (predicted.argmax(1) == y[400:]).mean() > 0.75


@pytest.mark.parametrize("grow", [Grower.forest, Grower.boosted])
def test_rows_of_weight_zero_and_other_columns_change_nothing(grow):
    x, y = rows(2)
    weight = np.repeat([1.0, 0.0], [200, 100])
    columns = np.tile([1, 3, 4], (5, 1))
    trees = grow(Grower(x, y, weight, 2, depth=3), columns, seed=1)
    assert set(np.concatenate([tree.used() for tree in trees])) <= {1, 3, 4}
    x, y = x.copy(), y.copy()
    x[200:], y[200:], x[:, 0] = 7, 1 - y[200:], 9
    others = grow(Grower(x, y, weight, 2, depth=3), columns, seed=1)
    for tree, again in zip(trees, others):
        np.testing.assert_array_equal(tree.feature, again.feature)
        np.testing.assert_array_equal(tree.value, again.value)


def test_a_class_without_rows_gets_a_small_probability():
    x, y = rows(3)
    weight = (y != 2).astype(float)
    columns = np.tile(np.arange(6), (10, 1))
    trees = Grower(x, y, weight, 3, depth=3).forest(columns, seed=0)
    assert (mean_prediction(trees, x).argmax(1) != 2).all()


@pytest.mark.parametrize("grow", [Grower.forest, Grower.boosted])
def test_rows_of_one_class_grow_trees_that_predict_it(grow):
    x, _ = rows(2, 30)
    columns = np.tile(np.arange(6), (4, 1))
    one_class = np.ones(30, dtype=int)
    trees = grow(Grower(x, one_class, np.ones(30), 2, depth=2), columns, seed=0)
    assert (mean_prediction(trees, x) > 1).all()


@pytest.mark.parametrize("depth", [1, 3, 6])
def test_a_complete_tree_sends_each_row_where_the_greedy_one_does(depth):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 6)).astype(np.float32)
    y = np.digitize(x[:, 0] - x[:, 3] * (x[:, 1] > 0), [-0.5, 0.5])
    greedy = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=9).fit(x, y)
    node = np.arange(greedy.tree_.node_count)
    tree = GreedyTree.of(greedy.tree_, depth, np.arange(6), node)
    reached = [tree.value[walk(tree.feature, tree.threshold, row)] for row in x]
    np.testing.assert_array_equal(reached, greedy.apply(x))


@pytest.mark.parametrize("grow", [Grower.forest, Grower.boosted])
def test_no_leaf_of_a_greedy_tree_has_fewer_rows_than_asked(grow):
    x, y = rows(2)
    columns = np.tile(np.arange(6), (6, 1))
    grower = Grower(x, y, np.ones(len(x)), 2, depth=4, least=40)
    for tree in grow(grower, columns, seed=1):
        reached = [walk(tree.feature, tree.threshold, row) for row in x]
        counts = np.unique(reached, return_counts=True)[1]
        # Boosted trees are grown on a fraction of the rows, forests on drawn ones.
        assert counts.min() >= 20
        assert len(counts) > 1


@pytest.mark.parametrize("width", [4, 6, 90])
def test_a_greedy_start_has_the_greedy_trees_splits_each_ahead_of_all_others(width):
    rng = np.random.default_rng(0)
    x = torch.tensor(rng.normal(size=(200, max(width, 6))), dtype=torch.float32)
    y = (x[:, 0] > 0).long()
    trained = Rows(x, y, torch.ones(200), torch.full((200,), -1), 200)
    columns = np.tile(np.arange(width), (5, 1))
    network = draw_starts(
        trained,
        columns,
        ClassObjective(class_weights=np.ones(2)),
        GrandeSettings(init="forest", depth=3),
        torch.Generator().manual_seed(0),
        np.random.RandomState(3),
    )
    seed = np.random.RandomState(3).randint(2**31, size=1)[0]
    grower = Grower(x.numpy(), y.numpy(), np.ones(200), 2, depth=3)
    logits, own = network.logits.detach()[0], network.columns
    _, feature, threshold = chosen_split(
        logits, network.threshold.detach()[0], None if own is None else own[0]
    )
    top = logits.topk(2, dim=-1).values
    for e, tree in enumerate(grower.forest(columns, seed)):
        splits = tree.feature >= 0
        np.testing.assert_array_equal(feature[e][splits], tree.feature[splits])
        np.testing.assert_array_equal(threshold[e][splits], tree.threshold[splits])
        lead = (top[e, :, 0] - top[e, :, 1]).numpy()[splits]
        assert (lead >= LEAD - 1e-5).all()
