import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

from treelab import ArgminTreeClusterer, load
from treelab.evaluation.metrics import dendrogram_purity
from treelab.trees.tree import Tree

QUICK = {"depth": 2, "pruning_strength": (0.0, 10.0), "max_epochs": 40}


@pytest.mark.slow
@parametrize_with_checks(
    [ArgminTreeClusterer(learning_rate=0.1, **QUICK | {"max_epochs": 10})]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
def test_clusters_of_irises_are_purer_than_chance_and_their_tree_predicts_them():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = ArgminTreeClusterer(depth=3, max_epochs=80, random_state=0).fit(X)
    tree = model.tree_
    assert dendrogram_purity(tree.parent, tree.apply(X), y) > 0.65
    assert (model.labels_ == model.predict(X)).all()
    assert (model.labels_ == tree.predict(X)).all()
    assert set(model.labels_) == set(range(model.n_clusters_))
    assert tree.n_rows[0] == len(X)


def test_chosen_columns_are_predicted_from_the_others_alone():
    X = load_iris(as_frame=True).data
    targets = ["petal width (cm)", "sepal width (cm)"]
    model = ArgminTreeClusterer(target_columns=targets, random_state=0, **QUICK).fit(X)
    assert {f.column for f in model.tree_.features} == set(X.columns) - set(targets)
    model.predict(X.assign(**dict.fromkeys(targets, np.nan)))


@pytest.mark.slow
def test_each_column_is_predicted_from_the_others_and_none_from_itself():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 400)
    frame = pd.DataFrame(
        {
            "a": group + 0.1 * rng.normal(size=400),
            "b": group + 0.1 * rng.normal(size=400),
            "noise": 2 * rng.normal(size=400),
        }
    )
    settings = {"depth": 1, "pruning_strength": 0.0, "max_epochs": 150}
    model = ArgminTreeClusterer(target_columns="each", random_state=0, **settings)
    tree = model.fit(frame).tree_
    assert dendrogram_purity(tree.parent, tree.apply(frame), group) > 0.95
    # Where every column is noise, a masked one cannot be predicted from the rest.
    alone = pd.DataFrame(rng.normal(size=(400, 2)), columns=["x", "y"])
    losses = {
        targets: ArgminTreeClusterer(target_columns=targets, random_state=0, **settings)
        .fit(alone)
        .path_.scores["valid_loss"][0]
        for targets in ("each", None)
    }
    assert losses["each"] > losses[None] + 0.1


def test_known_labels_measure_the_purity_and_change_no_tree():
    X, y = load_iris(return_X_y=True, as_frame=True)
    blind = ArgminTreeClusterer(random_state=0, **QUICK).fit(X)
    labelled = ArgminTreeClusterer(random_state=0, **QUICK).fit(X, y)
    assert "purity" not in blind.path_.scores
    assert (blind.labels_ == labelled.labels_).all()
    for tree, purity in zip(labelled.path_.trees, labelled.path_.scores["purity"]):
        assert purity == dendrogram_purity(tree.parent, tree.apply(X), y)


def test_categories_and_missing_values_are_clustered_and_saved(tmp_path):
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 200)
    frame = pd.DataFrame(
        {
            "colour": np.where(group, "red", "blue"),
            "size": np.where(rng.uniform(size=200) < 0.1, np.nan, group * 3.0),
            "noise": rng.normal(size=200),
        }
    )
    model = ArgminTreeClusterer(random_state=0, **QUICK).fit(frame)
    tree = model.tree_
    assert dendrogram_purity(tree.parent, tree.apply(frame), group) > 0.9
    model.path_.save(tmp_path / "model")
    assert (load(tmp_path / "model").predict(frame) == model.labels_).all()


def test_a_callback_sees_the_tree_and_stops_the_training():
    X = load_iris(as_frame=True).data
    seen = []

    def listen(progress):
        seen.append(progress.snapshot())
        return len(seen) == 3

    model = ArgminTreeClusterer(random_state=0, **QUICK).fit(X, callbacks=[listen])
    assert all(isinstance(tree, Tree) for tree in seen)
    assert len(model.history_) == 3


@pytest.mark.parametrize(
    ("setting", "value", "words"),
    [
        ("depth", 0, "depth must be an integer from 1 to 8, got 0"),
        ("pruning_strength", (3.0, 1.0), r"ascending .* 1.0 follows 3.0"),
        ("target_columns", ["age"], "names 'age'; the table has sepal length"),
        ("target_columns", [], r"must name 1 to 3 of the 4 columns, got 0"),
        ("target_columns", "all", r"None, 'each' or a list .* got 'all'"),
        ("target_columns", 3, r"None, 'each' or a list .* got 3"),
        ("pruning_strength", -1.0, "pruning_strength must be .* >= 0, got -1.0"),
        ("pruning_strength", (0.0, np.nan), "pruning_strength must be .* got nan"),
    ],
)
def test_a_setting_out_of_range_is_refused_by_name(setting, value, words):
    X = load_iris(as_frame=True).data
    with pytest.raises(ValueError, match=words):
        ArgminTreeClusterer(**{setting: value}).fit(X)


def test_fewer_rows_than_nodes_are_refused_with_a_depth_that_works():
    X = load_iris(as_frame=True).data
    with pytest.raises(ValueError, match=r"255 nodes.*120 training rows.*at most 5"):
        ArgminTreeClusterer(depth=7).fit(X)


def test_known_labels_of_other_rows_are_refused_before_training():
    X, y = load_iris(return_X_y=True, as_frame=True)
    with pytest.raises(ValueError, match="X has 150 rows, y has 140"):
        ArgminTreeClusterer(**QUICK).fit(X, y[:140], callbacks=[pytest.fail])
    with pytest.raises(ValueError, match="y contains NaN, first in row 3"):
        ArgminTreeClusterer(**QUICK).fit(X, y.where(y.index != 3))


def test_one_column_is_refused():
    X = load_iris(as_frame=True).data
    with pytest.raises(ValueError, match="at least 2 columns, got 1"):
        ArgminTreeClusterer().fit(X.iloc[:, :1])
