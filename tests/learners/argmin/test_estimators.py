import copy
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import train_test_split
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.learners.drawn_rows import of_drawn_rows
from tests.slow_params import slow_after
from treelab import ArgminTreeClassifier, ArgminTreeRegressor, load
from treelab.data.builtin import BUILTIN
from treelab.editing.regrow import class_weights
from treelab.learners.argmin import estimators as argmin
from treelab.learners.argmin import fit
from treelab.learners.argmin.fit import trained_trees
from treelab.learners.argmin.network import ArgminTrees, RowTensors
from treelab.learners.argmin.settings import ArgminSettings
from treelab.learners.argmin.starts import even_bias, random_splits
from treelab.ops.activity import known_traversal, path_scores
from treelab.training.loop import TrainingPlan, train
from treelab.training.optimizers import QHAdam
from treelab.trees.code import to_c, to_onnx, to_pmml, to_python, to_sql
from treelab.trees.pruning_path import ON_TOP, shown_tree
from treelab.trees.text import to_text
from treelab.trees.tree import Tree

QUICK = {"depth": 2, "pruning_strength": (0.0, 10.0), "max_epochs": 60}
QUICK |= {"n_restarts": 2}
KINDS = [
    {"predictor": "linear"},
    {"predictor": "mlp", "hidden_size": 8, "n_hidden_layers": 2, "dropout": 0.2},
    {"predictor": "linear", "uses_x": True},
    {"predictor": "linear", "split": "elu"},
    {"predictor": "linear", "formulation": "preference", "pruning_strength": 0.01},
    {"predictor": "linear", "formulation": "preference", "max_leaf_nodes": 3},
    {"predictor": "linear", "pruning_strength": 100.0},
]


CHECKED = QUICK | {"learning_rate": 0.1, "max_epochs": 15}


@pytest.mark.slow
@parametrize_with_checks(
    [ArgminTreeClassifier(**CHECKED)], expected_failed_checks=of_drawn_rows
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [ArgminTreeRegressor(**CHECKED)], expected_failed_checks=of_drawn_rows
)
def test_scikit_learns_checks_of_the_regressor(estimator, check):
    if "check_regressors_train" in str(check):  # four leaves cannot reach R2 0.5
        estimator = clone(estimator).set_params(depth=4, max_epochs=60)
    check(estimator)


def fitted(key, monkeypatch, **settings):
    """A model of a built-in table, its columns, and its network at each strength."""
    kept, networks = {}, []
    build, point = argmin._Argmin._network, fit.PathPoint

    def keep(self, exporter, seed):
        kept["data"] = exporter.data
        kept["network"] = build(self, exporter, seed)
        return kept["network"]

    def keep_too(*values):
        networks.append(copy.deepcopy(kept["network"]).eval())
        return point(*values)

    monkeypatch.setattr(argmin._Argmin, "_network", keep)
    monkeypatch.setattr(fit, "PathPoint", keep_too)
    table = BUILTIN[key]
    frame = table.load().dropna(subset=[table.target])
    target = frame.pop(table.target)
    kind = ArgminTreeRegressor if table.task == "regression" else ArgminTreeClassifier
    settings = {"depth": 3, "max_epochs": 10, "random_state": 0} | settings
    settings = {"n_restarts": 1} | settings
    model = kind(**settings).fit(frame, target)
    assert len(networks) == len(model.path_)
    return model, frame, networks, kept["data"]


@pytest.mark.parametrize("key", slow_after(1, ["diabetes", "wine"]))
@pytest.mark.parametrize("kind", KINDS)
def test_export_answers_as_the_trained_tensors(key, kind, monkeypatch):
    kind = {"pruning_strength": (0.1, 1.0, 30.0)} | kind
    model, _X, networks, data = fitted(key, monkeypatch, **kind)
    # Other rows may enter a node that no training row passed; there the export stops.
    rows = torch.tensor(data.encoder.transform(data.frame).T, dtype=torch.float32)
    for step, network in enumerate(networks):
        path = replace(model.path_, chosen=step)
        with torch.no_grad():
            z = known_traversal(network.scores(rows), network.activity())
            expected = network.outputs(z, rows)[0].double()  # (C, B)
        if key == "wine":
            found = path.predict_proba(data.frame)
            np.testing.assert_allclose(found, expected.softmax(0).T, atol=1e-4)
        else:
            found = (path.predict(data.frame) - data.y.mean()) / data.y.std()
            np.testing.assert_allclose(found, expected[0], atol=1e-4)


@pytest.mark.parametrize("key", BUILTIN)
def test_rows_take_the_route_of_the_trained_splits(key, monkeypatch):
    settings = {"depth": 4, "max_epochs": 3, "pruning_strength": (1.0, 30.0)}
    settings |= {"predictor": "linear"}  # with every node, as it was trained
    model, X, networks, data = fitted(key, monkeypatch, **settings)
    encoded = torch.tensor(data.encoder.transform(X).T, dtype=torch.float32)
    trained = X.index.isin(data.frame.index)
    for step, network in enumerate(networks):
        with torch.no_grad():
            q = path_scores(network.scores(encoded))[0].numpy()  # (T, B)
        tree, (numbers, _) = model.path_.trees[step], trained_trees(network)[0].nodes()
        passed = tree.decision_path(X)
        agree = passed == (q[numbers] > 0).T
        assert agree[trained].all()
        assert agree.mean() >= 0.999
        z = model.path_.traversal(step, X)
        assert ((z > 0) == (passed & (tree.activity > 0))).all()


def rows_of(seed, task, n_rows=160):
    """Numbers of several scales, a category, missing cells, and a target."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        rng.normal(size=(n_rows, 3)) * [1, 1e4, 1e-3], columns=["a", "b", "c"]
    )
    frame["d"] = rng.choice(["x", "y", "z"], n_rows)
    score = frame["a"] + frame["b"] / 1e4 + (frame["d"] == "x")
    frame = frame.mask(rng.random(frame.shape) < 0.1)
    if task == "regression":
        return frame, 100 + 5 * score.to_numpy()
    n_classes = 2 if task == "binary" else 3
    codes = pd.qcut(score + rng.normal(0, 0.3, n_rows), n_classes, labels=False)
    return frame, np.array(["low", "high", "more"])[codes]


TASKS = ["binary", "multiclass", "regression"]
ONCE = [*enumerate(TASKS)]  # each seed, with its settings, and each task
MORE = [pair for pair in product(range(3), TASKS) if pair not in ONCE]


@pytest.mark.parametrize(
    ("seed", "task"),
    [*ONCE, *(pytest.param(*pair, marks=pytest.mark.slow) for pair in MORE)],
)
def test_what_is_drawn_is_what_predicts(seed, task, tmp_path):
    X, y = rows_of(seed, task)
    unseen, _ = rows_of(seed + 100, task)
    kind = ArgminTreeRegressor if task == "regression" else ArgminTreeClassifier
    settings = QUICK | {"max_epochs": 20, "depth": 2 + seed, "random_state": seed}
    settings |= {"sparse_splits": seed != 1, "split": ("linear", "elu")[seed % 2]}
    model = kind(**settings).fit(X[:120], y[:120], X_valid=X[120:], y_valid=y[120:])
    model.tree_.save(tmp_path / "tree")
    for tree in (model.tree_, shown_tree(model.path_), load(tmp_path / "tree")):
        assert tree.n_rows.min() > 0
        for rows in (X, unseen):
            assert (tree.predict(rows) == model.predict(rows)).all()
            if task != "regression":
                assert (tree.predict_proba(rows) == model.predict_proba(rows)).all()
    leaf, code = model.tree_.apply(X[:120]), y[:120]
    for node in np.unique(leaf):
        own = code[leaf == node]
        if task == "regression":
            assert model.tree_.value[node] == pytest.approx(own.mean())
        else:
            counts = [(own == label).sum() for label in model.classes_]
            assert model.tree_.class_counts[node].tolist() == counts
            assert counts[model.tree_.predicted_class[node]] == max(counts)
            assert model.tree_.value[node].sum() == pytest.approx(1)
    names = {}
    exec(to_python(model.path_), names)
    records = unseen.to_dict("records")
    assert [names["predict"](row) for row in records] == list(model.predict(unseen))


@pytest.mark.parametrize(
    "settings", [{"predictor": "linear"}, {"predictor": "mlp"}, {"recipe": "paper"}]
)
@pytest.mark.parametrize("task", ["binary", "regression"])
def test_with_a_predictor_no_tree_passes_for_the_model(settings, task, tmp_path):
    X, y = rows_of(0, task)
    kind = ArgminTreeRegressor if task == "regression" else ArgminTreeClassifier
    model = kind(random_state=0, **CHECKED | settings).fit(X, y)
    assert not hasattr(model, "tree_")
    refused = pytest.raises(ValueError, match="A predictor on top of the tree makes")
    with refused:
        _ = model.tree_
    for write in (to_python, to_c, to_sql, to_onnx, to_pmml):
        with refused:
            write(model.path_)
    assert ON_TOP in to_text(shown_tree(model.path_))
    model.path_.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.has_predictor
    assert (again.predict(X) == model.predict(X)).all()


@pytest.mark.slow
@pytest.mark.parametrize("seed", slow_after(1, range(2)))
def test_auto_retains_a_predictor_where_it_is_clearly_better(seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.uniform(-1, 1, (400, 2)), columns=["a", "b"])
    X["a"] += np.sign(X["a"])
    settings = QUICK | {"predictor": "auto", "random_state": seed}
    steps = np.where(X["a"] > 0, 1.0, 5.0)
    assert not ArgminTreeClassifier(**settings).fit(X, steps).path_.has_predictor
    assert not ArgminTreeRegressor(**settings).fit(X, steps).path_.has_predictor
    slope = 3 * X["a"] + 2 * X["b"]
    settings["uses_x"] = True
    assert ArgminTreeRegressor(**settings).fit(X, slope).path_.has_predictor


def test_class_weights_weigh_the_leaves():
    X, y = rows_of(3, "binary")
    weight = {"high": 3.0, "low": 1.0}
    model = ArgminTreeClassifier(class_weight=weight, random_state=0, **CHECKED)
    tree = model.fit(X, y).tree_
    expected = (tree.class_counts * [3.0, 1.0]).argmax(axis=1)
    assert tree.predicted_class[tree.is_leaf].tolist() == list(expected[tree.is_leaf])


@pytest.mark.parametrize("low", [1.0, 0.0])
def test_an_edit_weighs_classes_as_the_training_did(low):
    X, y = rows_of(3, "binary")
    weight = {"high": 3.0, "low": low}
    model = ArgminTreeClassifier(class_weight=weight, random_state=0, **CHECKED)
    tree = model.fit(X, y).tree_
    assert class_weights(tree).tolist() == pytest.approx([1.0, low / 3])


def test_leaves_of_a_tree_with_a_predictor_have_the_class_fractions_of_their_rows():
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = ArgminTreeClassifier(predictor="linear", random_state=0, **QUICK).fit(
        X, y, X_valid=X, y_valid=y
    )
    tree, leaf = model.path_.tree, model.path_.tree.apply(X)
    for node in np.unique(leaf):
        share = np.bincount(y[leaf == node], minlength=3) / (leaf == node).sum()
        np.testing.assert_allclose(tree.value[node], share)
        assert (tree.class_counts[node] == share * (leaf == node).sum()).all()


@pytest.mark.slow
def test_breast_cancer_with_default_settings():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
    model = ArgminTreeClassifier(random_state=0).fit(X, y)
    assert model.score(X_test, y_test) >= 0.9
    scores, chosen = model.path_.scores, model.path_.chosen
    assert list(scores["strength"]) == list(model.path_.strengths)
    assert model.pruning_strength_ == scores["strength"][chosen]
    assert scores["valid_score"][chosen] >= scores["valid_score"].max() - 0.03
    assert scores["active_splits"][chosen] <= scores["active_splits"].median()


@pytest.mark.slow
def test_a_table_with_categories_and_missing_values(tmp_path):
    frame = BUILTIN["mixed"].load().dropna(subset=[BUILTIN["mixed"].target])
    y = frame.pop(BUILTIN["mixed"].target)
    model = ArgminTreeClassifier(random_state=0, **QUICK).fit(frame, y)
    assert model.score(frame, y) > y.value_counts(normalize=True).max() + 0.05
    model.path_.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert (again.predict_proba(frame) == model.predict_proba(frame)).all()


def test_a_saved_path_scores_its_splits_as_before(tmp_path):
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = ArgminTreeClassifier(
        split="elu", predictor="linear", random_state=0, **QUICK
    ).fit(X, y)
    model.path_.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.split == "elu"
    assert (again.predict_proba(X) == model.predict_proba(X)).all()


def test_a_seed_gives_the_same_tree_every_time():
    X, y = load_wine(return_X_y=True, as_frame=True)
    first, second = (
        ArgminTreeClassifier(random_state=3, **QUICK).fit(X, y) for _ in range(2)
    )
    assert first.path_.to_dict() == second.path_.to_dict()


def test_dropout_follows_the_seed_and_leaves_the_global_generator_alone():
    X, y = load_wine(return_X_y=True, as_frame=True)
    settings = {"predictor": "mlp", "dropout": 0.5, "depth": 1, "max_epochs": 3}
    settings |= {"n_restarts": 2, "pruning_strength": (0.0, 10.0)}
    model = ArgminTreeClassifier(random_state=0, **settings)
    before = torch.get_rng_state()
    first, second = (model.fit(X, y).predict_proba(X) for _ in range(2))
    assert (first == second).all()
    assert torch.equal(torch.get_rng_state(), before)
    without = ArgminTreeClassifier(random_state=0, **settings | {"dropout": 0.0})
    assert (without.fit(X, y).predict_proba(X) != first).any()


def test_restarts_train_side_by_side_as_they_would_alone():
    x = torch.randn(4, 80, generator=torch.Generator().manual_seed(0))
    rows = RowTensors(x, (x[0] > 0).long(), torch.ones(80))
    settings = ArgminSettings(depth=2, predictor="linear")

    def trained(splits, layers):
        rng = torch.Generator().manual_seed(0)
        network = ArgminTrees(settings, rows, rows, 2, splits=splits, generator=rng)
        network.layers = torch.nn.ParameterList(layers)
        rate = torch.full((network.n_candidates,), 0.05)
        train(
            network,
            QHAdam(network.parameters(), rate),
            TrainingPlan(n_rows=80, batch_size=40, max_epochs=10, patience=10),
            generator=torch.Generator().manual_seed(1),
        )
        return network.valid_loss()

    rng = torch.Generator().manual_seed(0)
    weights, bias = random_splits(x, 3, 2, "median", rng)
    layers = [torch.randn(3, 2, 7, generator=rng), torch.zeros(3, 2, 1)]
    alone = [
        trained((weights[[e]], bias[[e]]), [layer[[e]] for layer in layers])
        for e in range(3)
    ]
    together = trained((weights, bias), layers)
    torch.testing.assert_close(torch.cat(alone), together, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("formulation", ["ridge", "preference"])
@pytest.mark.parametrize("seed", slow_after(1, range(2)))
def test_the_slider_goes_one_way(seed, formulation):
    X, y = rows_of(seed, "multiclass")
    model = ArgminTreeClassifier(
        formulation=formulation, max_epochs=40, n_restarts=2, random_state=seed
    )
    path = model.fit(X, y).path_
    leaves = [shown_tree(path, strength=i).n_leaves for i in range(len(path))]
    rises = [after - before for before, after in pairwise(leaves)]
    assert max(rises) <= 1  # where two equal leaves, drawn as one, part again
    if formulation == "ridge":
        assert spearmanr(path.strengths, leaves)[0] <= -0.9
        assert leaves[-1] == 1


def test_a_callback_is_called_each_epoch_and_stops_the_training():
    X, y = load_wine(return_X_y=True, as_frame=True)
    reports = []

    def listen(progress):
        reports.append(progress)
        return len(reports) == 5

    model = ArgminTreeClassifier(random_state=0, **QUICK)
    model.fit(X, y, callbacks=[listen])
    *reports, last = reports
    assert [progress.epoch for progress in reports] == [0, 1, 2, 3, 4]
    assert last.retained.history.equals(model.history_)
    assert model.history_["epoch"].tolist() == [0, 1, 2, 3, 4]
    assert np.isfinite(model.history_["valid_loss"]).all()
    assert isinstance(reports[-1].snapshot(), Tree)
    assert model.predict(X).shape == y.shape


def test_a_class_of_more_weight_is_predicted_more_often():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    settings = CHECKED | {"pruning_strength": 1.0, "max_epochs": 40, "random_state": 0}
    found = [
        ArgminTreeClassifier(class_weight=weight, **settings).fit(X, y).predict(X)
        for weight in ({0: 1, 1: 50}, None, {0: 50, 1: 1})
    ]
    first, second, third = [(labels == 0).mean() for labels in found]
    assert first < second < third


@pytest.mark.parametrize(
    ("setting", "value", "words"),
    [
        ("depth", 0, "depth must be an integer from 1 to 8, got 0"),
        ("depth", 9, "depth must be an integer from 1 to 8, got 9"),
        ("pruning_strength", -1.0, "pruning_strength must be .* >= 0, got -1.0"),
        ("pruning_strength", (0.0, np.nan), "pruning_strength must be .* got nan"),
        ("pruning_strength", (10.0, 1.0), "ascending .* 1.0 follows 10.0"),
        ("pruning_strength", (1.0, 1.0), "ascending .* 1.0 follows 1.0"),
        ("pruning_strength", (), "got none"),
        ("pruning_strength", "high", "got 'high'"),
        ("formulation", "lasso", "formulation must be one of 'ridge'"),
        ("split", "cubic", "split must be one of 'linear', 'elu', got 'cubic'"),
        ("predictor", "forest", "predictor must be one of 'leaf'"),
        ("n_hidden_layers", 6, "n_hidden_layers must be an integer from 1 to 5"),
        ("dropout", 1.0, "dropout must be .* <= 0.95, got 1.0"),
        ("learning_rate", -0.1, "learning_rate must be .* >= 0, got -0.1"),
        ("plateau", 0, "plateau must be an integer >= 1"),
        ("max_leaf_nodes", 1, "max_leaf_nodes must be an integer >= 2"),
        ("recipe", "ours", "recipe must be one of 'treelab', 'paper'"),
        ("max_epochs", 0, "max_epochs must be an integer >= 1"),
        ("patience", 0, "patience must be an integer >= 1"),
        ("batch_size", 0, "batch_size must be an integer >= 1"),
    ],
)
def test_a_setting_out_of_range_is_refused_by_name(setting, value, words):
    X, y = load_wine(return_X_y=True, as_frame=True)
    with pytest.raises(ValueError, match=words):
        ArgminTreeClassifier(**{setting: value}).fit(X, y)


def test_fewer_rows_than_nodes_are_refused_with_a_depth_that_works():
    X, y = load_wine(return_X_y=True, as_frame=True)
    with pytest.raises(ValueError, match=r"255 nodes.*142 training rows.*at most 6"):
        ArgminTreeClassifier(depth=7).fit(X, y)
    quick = {"max_epochs": 1, "n_restarts": 1, "pruning_strength": 1.0}
    ArgminTreeClassifier(depth=6, **quick).fit(X, y)


def test_constants_in_leaves_cannot_read_the_features():
    X, y = load_wine(return_X_y=True, as_frame=True)
    with pytest.raises(ValueError, match="uses_x=True needs predictor"):
        ArgminTreeClassifier(predictor="leaf", uses_x=True).fit(X, y)


def test_a_table_too_small_to_hold_rows_out_does_not_say_that_any_were():
    X = pd.DataFrame({"a": np.arange(9.0)})
    model = ArgminTreeClassifier(random_state=0, **QUICK | {"depth": 1})
    assert model.fit(X, X["a"] > 4).origin_.held_out == ""
    model.fit(X, X["a"] > 4, X_valid=X, y_valid=X["a"] > 4)
    assert model.origin_.held_out == "validation rows"


def test_a_constant_target_is_learned():
    X = pd.DataFrame({"a": np.arange(40.0)})
    model = ArgminTreeRegressor(random_state=0, **QUICK).fit(X, np.full(40, 7.0))
    np.testing.assert_allclose(model.predict(X), 7.0, atol=0.5)


@pytest.mark.parametrize("depth", [1, 3, 5])
def test_first_biases_spread_the_rows_evenly(depth):
    rng = torch.Generator().manual_seed(depth)
    weights = torch.randn(2**depth - 1, 3, generator=rng)
    x = torch.randn(3, 1024, generator=rng)
    bias = even_bias(weights, x)
    node = torch.zeros(1024, dtype=torch.long)
    score = weights @ x + bias[:, None]
    for _ in range(depth):
        left = score[node, torch.arange(1024)] >= 0
        node = torch.where(left, 2 * node + 1, 2 * node + 2)
    counts = torch.bincount(node - (2**depth - 1), minlength=2**depth)
    assert (counts > 0.6 * 1024 / 2**depth).all()
