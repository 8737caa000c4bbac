from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.metrics import f1_score

from treelab import ArgminTreeClassifier, ArgminTreeClusterer, ArgminTreeRegressor
from treelab.learners.argmin.fit import (
    keep_columns,
    loses_nothing,
    most_active,
    row_scores,
    trained_trees,
)
from treelab.learners.argmin.network import ArgminTrees, RowTensors
from treelab.learners.argmin.settings import SPEC, ArgminSettings
from treelab.learners.argmin.starts import random_splits
from treelab.learners.common.origin import changed_splits, feature_spread
from treelab.ops.activity import known_traversal, path_scores
from treelab.trees.pruning_path import shown_tree
from treelab.trees.tree import OBLIQUE

QUICK = {"depth": 3, "pruning_strength": (1.0, 100.0), "max_epochs": 80}
QUICK |= {"random_state": 0, "n_restarts": 2}


def wine():
    return load_wine(return_X_y=True, as_frame=True)


def columns_per_split(tree):
    oblique = tree.feature == OBLIQUE
    sums = np.ones(tree.n_nodes, int)
    if oblique.any():
        sums[oblique] = (tree.weights[oblique] != 0).sum(1)
    return sums[~tree.is_leaf]


def network_of(x, depth, **settings):
    """An untrained network of two trees on rows (n, F) of two classes."""
    y = (x[:, 0] > 0).astype(np.int64)
    rows = RowTensors.of(x, y, np.ones(len(x)), torch.device("cpu"))
    settings = ArgminSettings(depth=depth, **settings)
    rng = torch.Generator().manual_seed(0)
    splits = random_splits(rows.x, 2, depth, "median", rng)
    return ArgminTrees(settings, rows, rows, 2, splits=splits, generator=rng)


@pytest.mark.slow
def test_splits_of_breast_cancer_name_few_columns_and_score_as_before():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    settings = {"random_state": 0, "max_epochs": 50, "n_restarts": 2}
    sparse = ArgminTreeClassifier(**settings).fit(X, y)
    dense = ArgminTreeClassifier(sparse_splits=False, **settings).fit(X, y)
    assert (columns_per_split(dense.tree_) == 30).all()
    assert columns_per_split(sparse.tree_).mean() <= 8
    assert sparse.score(X, y) >= dense.score(X, y) - 0.03


@pytest.mark.slow
def test_most_splits_of_a_sparse_tree_part_training_rows():
    X, y = wine()
    tree = ArgminTreeClassifier(**QUICK).fit(X, y).tree_
    split = ~tree.is_leaf
    assert (tree.n_rows[tree.left[split]] > 0).mean() >= 0.5
    assert (tree.n_rows[tree.right[split]] > 0).mean() >= 0.5


@pytest.mark.parametrize(
    "most",
    [
        pytest.param(2, marks=pytest.mark.slow),
        3,
        pytest.param(5, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("predictor", ["linear", "leaf"])
def test_no_tree_of_the_path_has_more_leaves_than_allowed(most, predictor):
    X, y = wine()
    settings = {**QUICK, "predictor": predictor, "max_leaf_nodes": most}
    for sparse in (True, False):
        model = ArgminTreeClassifier(sparse_splits=sparse, **settings).fit(X, y)
        assert max(tree.n_leaves for tree in model.path_.trees) <= most
    assert model.score(X, y) > 0.6


def test_a_limit_that_no_tree_of_the_depth_can_reach_changes_nothing():
    X, y = wine()
    free, limited = (
        ArgminTreeClassifier(**{**QUICK, "depth": 2, "max_leaf_nodes": most}).fit(X, y)
        for most in (None, 4)
    )
    assert free.path_.scores.equals(limited.path_.scores)
    assert np.array_equal(free.predict_proba(X), limited.predict_proba(X))


@pytest.mark.parametrize("formulation", ["ridge", "preference"])
def test_a_split_with_one_child_left_gives_it_its_place(formulation):
    x = np.random.default_rng(0).normal(size=(200, 2))
    network = network_of(x, depth=2, formulation=formulation)
    with torch.no_grad():
        network.weights.zero_()
        network.bias.zero_()
        network.bias[:, 0] = 1.0  # all rows go left at the root
        network.weights[:, 1, 1] = 2.0  # and part there
        z = known_traversal(network.scores(network.rows.x), network.activity())
        before = network.outputs(z, network.rows.x)
        network.empty_nodes(network.rows_at() > 0)
        z = known_traversal(network.scores(network.rows.x), network.activity())
        after = network.outputs(z, network.rows.x)
    assert network.fixed[0].isnan().tolist() == [False, True, False]
    numbers, children = trained_trees(network)[0].nodes()
    assert numbers.tolist() == [1, 3, 4]
    assert children.tolist() == [[1, 2], [-1, -1], [-1, -1]]
    if formulation == "ridge":  # what was read of the root is read of its child
        torch.testing.assert_close(after, before)


@pytest.mark.parametrize("strength", [0.0, 3.0, 30.0, 200.0, 2000.0])
def test_nodes_live_whose_rows_pass_them_by_more_than_half_of_lambda(strength):
    x = np.random.default_rng(0).normal(size=(200, 3))
    network = network_of(x, depth=3)
    network.pruning_strength = strength
    q = path_scores(network.scores(network.rows.x)).clamp(min=0)
    expected = (q.sum(2) > strength * 200 / 512 / 2).numpy()
    expected[:, 0] = True
    live = network.live_nodes()
    assert (live == expected).all()
    network.empty_nodes(live)
    for tree, leaves in zip(trained_trees(network), live[:, 1:].reshape(2, -1, 2)):
        assert (tree.nodes()[1][:, 0] < 0).sum() == 1 + leaves.all(1).sum()


def test_the_least_active_leaves_go_until_there_are_few():
    x = np.random.default_rng(0).normal(size=(200, 3))
    network = network_of(x, depth=3)
    live = most_active(network, 3)
    for nodes in live.tolist():  # none without its parent
        assert all(nodes[(t - 1) // 2] for t in range(1, 15) if nodes[t])
    network.empty_nodes(live)
    for tree in trained_trees(network):
        assert (tree.nodes()[1][:, 0] < 0).sum() == 3


def test_a_sum_of_fewer_columns_sends_nearly_all_rows_the_same_way():
    x = np.random.default_rng(0).normal(size=(500, 12))
    network = network_of(x, depth=1)
    with torch.no_grad():
        network.weights[:] = 0.01
        network.weights[:, 0, [2, 5]] = torch.tensor([1.0, -1.0])
        before = network.scores(network.rows.x) >= 0
        keep_columns(network, 2)
        after = network.scores(network.rows.x) >= 0
    assert network.column_mask[:, 0].sum(1).tolist() == [2, 2]
    assert (before == after).float().mean() > 0.95


@pytest.mark.parametrize("n_classes", [2, 9])
def test_rows_of_classes_score_what_they_make_of_macro_f1(n_classes):
    rng = np.random.default_rng(n_classes)
    frequency = 0.75 ** np.arange(n_classes)
    true, other = rng.choice(n_classes, (2, 400), p=frequency / frequency.sum())
    called = np.where(rng.random(400) < 0.4, true, other)
    weight = rng.integers(1, 4, 400).astype(float)
    kinds = {"classes": tuple(range(n_classes)), "task": "multiclass"}

    def scored(rows):
        model = SimpleNamespace(predict=lambda frame: called[frame], **kinds)
        own = {"y_valid": true[rows], "row_weight_valid": weight[rows]}
        return row_scores(model, SimpleNamespace(frame_valid=rows, **own))

    def by_sklearn(rows):
        own = true[rows], called[rows]
        return f1_score(*own, average="macro", sample_weight=weight[rows])

    found = scored(np.arange(400))
    assert found.mean() == pytest.approx(by_sklearn(np.arange(400)))
    drawn = [by_sklearn(rng.integers(400, size=400)) for _ in range(200)]
    assert found.std() / 20 == pytest.approx(np.std(drawn), rel=0.3)


def test_trees_lose_nothing_within_one_standard_error_of_the_difference():
    before = np.ones((3, 50))
    after = before.copy()
    after[1, 0] = 0  # one row in 50: its error is as large
    after[2, :5] = 0
    found = [loses_nothing(*scores) for scores in zip(before, after)]
    assert found == [True, True, False]


@pytest.mark.parametrize(
    ("kind", "load"),
    [(ArgminTreeClassifier, load_wine), (ArgminTreeRegressor, load_diabetes)],
)
def test_the_origin_counts_the_splits_that_differ_from_the_start(kind, load):
    X, y = load(return_X_y=True, as_frame=True)
    starts = []

    def listen(progress):
        if progress.retained is not None:
            starts.append(progress.retained.snapshots[0]())

    model = kind(**QUICK).fit(X, y, callbacks=[listen])
    origin, tree = model.origin_, model.tree_
    assert (origin.start, origin.trained) == ("random", True)
    shown = shown_tree(tree)  # on the pages, too
    assert origin.n_splits == shown.n_splits
    spread = feature_spread(X.to_numpy())
    changed = changed_splits(starts[0], shown, spread)
    assert origin.n_changed == pytest.approx(changed, abs=1)
    assert tree.notes[0] == str(origin)
    assert str(origin) in str(model)


def test_with_learning_off_the_tree_is_its_start_and_says_so():
    X, y = wine()
    model = ArgminTreeClassifier(learning_rate=0.0, sparse_splits=False, **QUICK)
    origin = model.fit(X, y).origin_
    assert not origin.trained
    assert origin.n_changed == 0
    assert "not trained by gradient descent" in model.tree_.notes[0]


def test_the_history_is_that_of_the_chosen_tree_from_its_start():
    X, y = wine()
    settings = {**QUICK, "sparse_splits": False, "patience": 80}
    model = ArgminTreeClassifier(**settings).fit(X, y)
    history = model.history_
    steps = 1 + model.path_.chosen  # an eighth of the epochs at each strength
    assert history["epoch"].tolist() == list(range(81 + 10 * steps))
    assert history["stage"].tolist()[81:] == ["pruning"] * 10 * steps
    assert history["valid_loss"].min() < history["valid_loss"][0]
    assert model.n_epochs_ == 80 + 10 * steps


def test_the_papers_recipe_is_that_of_its_appendix():
    X, y = wine()
    model = ArgminTreeClassifier(recipe="paper", depth=2, random_state=0, max_epochs=2)
    model.fit(X, y)
    assert model.path_.predictors[0].uses_x  # f(x, z) of equation 10
    assert list(model.path_.strengths) == [0.001, 0.01, 0.1, 1, 10, 100, 1000]
    assert model.path_.chosen == model.path_.scores["valid_loss"].argmin()
    assert model.origin_.later == ()
    paper = SPEC.paper_settings
    assert (paper["learning_rate"], paper["max_epochs"]) == (0.001, 100)
    assert (paper["patience"], paper["plateau"]) == (10, 2)
    assert paper["formulation"] == "preference"
    assert ArgminSettings.batch_size == 512


@pytest.mark.parametrize("init", ["clusters", "random"])
def test_clusters_begin_as_the_setting_says(init):
    X = load_iris(as_frame=True).data
    quick = {name: QUICK[name] for name in QUICK if name != "n_restarts"}
    model = ArgminTreeClusterer(init=init, **quick).fit(X)
    assert model.origin_.start == init
    assert model.n_clusters_ >= 2
    assert model.history_["epoch"][0] == 0
