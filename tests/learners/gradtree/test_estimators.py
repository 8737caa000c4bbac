"""GradTree as it is used: what it retains, what it says of it, what it refuses."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.learners.drawn_rows import of_drawn_rows
from tests.slow_params import slow_after
from treelab.data.builtin import BUILTIN
from treelab.data.encoding import to_float32
from treelab.learners.cart.estimators import CartClassifier
from treelab.learners.common.origin import changed_splits, feature_spread
from treelab.learners.gradtree import estimators
from treelab.learners.gradtree.estimators import GradTreeClassifier, GradTreeRegressor
from treelab.trees.feature import feature_matrix
from treelab.trees.pruning import SizePath
from treelab.trees.tree import leaf_of

QUICK = {"max_leaf_nodes": 8, "n_restarts": 2, "n_steps": 30, "random_state": 0}
EARLY = {"early_stopping": True, "n_steps": "auto"}  # which then count for nothing
CHECKED = {"max_leaf_nodes": 4, "n_restarts": 2, "n_steps": 4, "random_state": 0}
RATES = ("learning_rate_index", "learning_rate_values", "learning_rate_leaf")
TABLES = sorted(BUILTIN, key=lambda key: key not in ("mixed", "diabetes"))
STILL = {**dict.fromkeys(RATES, 0.0), "n_steps": 1}


@pytest.fixture
def small_search(small_search, monkeypatch):
    """And with few splits of random trees."""
    monkeypatch.setattr(estimators, "N_SPLITS", 14)


@pytest.mark.slow
@parametrize_with_checks(
    [GradTreeClassifier(**CHECKED)], expected_failed_checks=of_drawn_rows
)
def test_scikit_learn_finds_nothing_to_complain_about(small_search, estimator, check):
    if "check_class_weight_classifiers" in str(check):
        # One class weighs 10 million times the other in pure noise, and the light one
        # is to be predicted hardly ever, which no leaf of one row does, as with CART.
        leaves_of_ten = {"min_samples_leaf": 10}
        estimator = clone(estimator).set_params(constraints=leaves_of_ten)
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [GradTreeRegressor(**CHECKED)], expected_failed_checks=of_drawn_rows
)
def test_scikit_learns_checks_of_the_regressor(small_search, estimator, check):
    check(estimator)


def table(key):
    builtin = BUILTIN[key]
    frame = builtin.load()
    return builtin.task, frame.drop(columns=builtin.target), frame[builtin.target]


def learner(task, **settings):
    make = GradTreeRegressor if task == "regression" else GradTreeClassifier
    return make(**{**QUICK, **settings})


class Recording:
    """A learner that notes what it trained, and every tree that it exports."""

    def _network(self, table, *args):
        self.network = super()._network(table, *args)
        return self.network

    def _tree(self, table, encoded):
        tree = super()._tree(table, encoded)
        self.exports = [*getattr(self, "exports", []), (encoded, tree, table)]
        return tree


class RecordingClassifier(Recording, GradTreeClassifier):
    pass


class RecordingRegressor(Recording, GradTreeRegressor):
    pass


@pytest.mark.slow
@pytest.mark.parametrize("key", slow_after(1, TABLES))
def test_the_exported_tree_sends_every_training_row_where_the_hard_tree_did(key):
    task, X, y = table(key)
    make = RecordingRegressor if task == "regression" else RecordingClassifier
    fitted = make(**QUICK).fit(X, y)
    trained = fitted.network.leaves()  # from the left, of complete trees
    for encoded, tree, bound in fitted.exports:
        seen = to_float32(bound.data.encoder.transform(X))
        leaf, mine = leaf_of(encoded, seen), tree.apply(X)
        # Empty branches go; siblings that predict the very same become one leaf.
        pairs = set(zip(leaf.tolist(), mine.tolist()))
        assert len(pairs) == len(np.unique(leaf))
        assert len(np.unique(mine)) == tree.n_leaves
        places = [e for e, own in enumerate(fitted.batch_.trees) if own is encoded]
        for place in places:
            order = np.argsort(np.argsort(np.flatnonzero(encoded.is_leaf)))
            number = dict(zip(np.flatnonzero(encoded.is_leaf).tolist(), order))
            assert [number[node] for node in leaf.tolist()] == trained[place].tolist()
        weights = np.ones(len(y))
        values = bound.data.y[:, None]
        if task != "regression":
            weights, values = bound.class_weights[bound.data.y], bound.values
        for hard, own in pairs:
            here = leaf == hard
            expected = np.average(values[here], axis=0, weights=weights[here])
            np.testing.assert_allclose(tree.value[own], expected, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("key", slow_after(1, ["diabetes", "iris", "breast_cancer"]))
def test_the_path_ascends_holds_the_tree_and_is_saved_and_loaded(key, tmp_path):
    task, X, y = table(key)
    fitted = learner(task).fit(X, y)
    path = fitted.path_
    leaves = [tree.n_leaves for tree in path.trees]
    assert leaves == sorted(set(leaves))
    assert max(leaves) <= 8
    assert path.tree is fitted.tree_ is fitted.model_
    assert (path.scores["n_leaves"] >= leaves).all()
    assert path.scores["score"].between(0, 1).all()
    assert (path.scores["standard_error"] >= 0).all()
    path.save(tmp_path / "path.json")
    loaded = SizePath.load(tmp_path / "path.json")
    assert [tree.to_dict() for tree in loaded.trees] == [
        tree.to_dict() for tree in path.trees
    ]
    pd.testing.assert_frame_equal(loaded.scores, path.scores)


@pytest.mark.slow
@pytest.mark.parametrize(
    "key", slow_after(1, ["mixed", "diabetes", "wine", "greedy_trap"])
)
def test_as_many_splits_changed_as_the_origin_says(key):
    task, X, y = table(key)
    retained = []

    def note(report):
        if report.retained is not None:
            retained.append(report.retained)

    fitted = learner(task).fit(X, y, callbacks=[note])
    (curve,) = retained
    start, tree, origin = curve.snapshots[0](), fitted.tree_, fitted.origin_
    spread = feature_spread(feature_matrix(tree.features, X))
    assert origin.trained
    assert origin.n_splits == tree.n_splits
    assert origin.n_changed == changed_splits(start, tree, spread)
    assert tree.notes[0] == str(origin)
    assert origin.held_out == "the rows held out of 5 folds in turn"
    assert curve.snapshots[max(curve.snapshots)]() is tree
    pd.testing.assert_frame_equal(curve.history, fitted.history_)
    assert fitted.history_["epoch"].iloc[0] == 0
    assert fitted.history_["epoch"].is_monotonic_increasing
    assert fitted.history_["train_loss"].notna().all()


@pytest.mark.slow
@pytest.mark.parametrize("key", ["wine", "diabetes"])
def test_without_learning_the_tree_is_its_start_and_says_that_it_is_untrained(key):
    task, X, y = table(key)
    fitted = learner(task, **STILL).fit(X, y)
    assert not fitted.origin_.trained
    assert fitted.origin_.n_changed == 0
    assert "not trained by gradient descent" in fitted.tree_.notes[0]


@pytest.mark.slow
def test_it_finds_the_xor_at_the_depth_at_which_cart_cannot():
    _, X, y = table("greedy_trap")
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    cart = (
        CartClassifier(max_depth=2, tune=False, random_state=0)
        .fit(X, y)
        .score(X_test, y_test)
    )
    ours = (
        GradTreeClassifier(max_depth=2, random_state=0).fit(X, y).score(X_test, y_test)
    )
    assert ours >= cart + 0.3


@pytest.mark.slow
def test_of_larger_trees_the_one_is_retained_that_is_best_pruned_to_the_size():
    # At this seed the largest tree that fits best has no pruning of four leaves.
    _, X, y = table("greedy_trap")
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
    fitted = GradTreeClassifier(n_steps=400, random_state=0).fit(X, y)
    assert fitted.tree_.n_leaves == 4
    assert fitted.score(X_test, y_test) > 0.95


@pytest.mark.parametrize(
    "key", ["mixed", pytest.param("diabetes", marks=pytest.mark.slow)]
)
def test_the_same_seed_gives_the_same_tree(key):
    task, X, y = table(key)
    one, two = (learner(task).fit(X, y) for _ in range(2))
    assert one.tree_.to_dict() == two.tree_.to_dict()
    pd.testing.assert_frame_equal(one.path_.scores, two.path_.scores)


@pytest.mark.slow
def test_a_callback_stops_it_before_there_is_a_loss_by_which_restarts_are_judged():
    _, X, y = table("breast_cancer")
    learner = GradTreeClassifier(**QUICK | EARLY)
    fitted = learner.fit(X, y, callbacks=[lambda report: True])
    assert not fitted.origin_.trained
    assert fitted.score(X, y) > 0.85


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["cross-validation", "training"])
def test_a_callback_stops_it_and_a_tree_is_made_of_what_is_there(stage):
    _, X, y = table("breast_cancer")
    reports = []

    def stop_at_third(report):
        reports.append(report)
        return sum(own.stage == stage for own in reports) == 3

    fitted = GradTreeClassifier(**{**QUICK, "n_steps": 40}).fit(
        X, y, callbacks=[stop_at_third]
    )
    heard = [own for own in reports if own.retained is None and own.stage == stage]
    assert len(heard) == 3
    assert fitted.origin_.trained == (stage == "training")
    assert fitted.score(X, y) > 0.85


@pytest.mark.slow
def test_what_folds_train_is_a_preparation_and_not_on_the_curve():
    _, X, y = table("iris")
    reports = []
    fitted = GradTreeClassifier(**QUICK).fit(X, y, callbacks=[reports.append])
    before = [own for own in reports if own.is_preparation]
    assert {own.stage for own in before} == {"cross-validation"}
    assert before[-1].train_loss < before[0].train_loss
    total = [own.total_epoch for own in reports]
    assert total == sorted(total)
    assert total[-1] <= reports[-1].max_epochs
    assert len(fitted.history_) == sum(
        own.stage == "training" and own.retained is None for own in reports
    )


@pytest.mark.slow
def test_a_snapshot_is_a_tree_in_the_units_of_the_table():
    _, X, y = table("diabetes")
    trees = []

    def take(report):
        if report.snapshot is not None:
            trees.append(report.snapshot())

    GradTreeRegressor(**{**QUICK, "n_steps": 5}).fit(X, y, callbacks=[take])
    assert trees
    for tree in trees:
        assert tree.n_rows[0] == len(X)
        assert tree.predict(X).mean() == pytest.approx(y.mean())


@pytest.mark.slow
def test_validation_rows_join_training():
    _, X, y = table("breast_cancer")
    X, X_valid, y, y_valid = train_test_split(X, y, random_state=0)
    fitted = GradTreeClassifier(**QUICK).fit(X, y, X_valid=X_valid, y_valid=y_valid)
    assert fitted.tree_.n_rows[0] == len(X) + len(X_valid)
    both = pd.concat([X, X_valid]), pd.concat([y, y_valid])
    joined = GradTreeClassifier(**QUICK).fit(*both)
    assert joined.tree_.to_dict() == fitted.tree_.to_dict()


@pytest.mark.slow
def test_a_loss_that_is_no_number_leaves_the_start_and_says_what_to_try():
    _, X, y = table("breast_cancer")
    fitted = GradTreeClassifier(**QUICK).set_params(learning_rate_leaf=1e38)
    with pytest.warns(RuntimeWarning, match="smaller learning_rate"):
        fitted.fit(X, y)
    assert fitted.origin_.equals_start
    assert fitted.score(X, y) > 0.85


@pytest.mark.parametrize("n_rows", [2, 5, 9])
@pytest.mark.parametrize("task", ["binary", "regression"])
def test_a_tiny_table_holds_nothing_out_and_trains(task, n_rows):
    X = pd.DataFrame(
        {"a": np.arange(n_rows), "b": [1, 0] * (n_rows // 2) + [1] * (n_rows % 2)}
    )
    y = np.arange(n_rows) * 10.0
    y = y if task == "regression" else np.where(y > y.mean(), "more", "less")
    fitted = learner(task).fit(X, y)
    assert fitted.score(X, y) > 0.6
    assert fitted.origin_.held_out == ""
    assert fitted.path_.scores["score"].isna().all()


@pytest.mark.slow
def test_more_classes_than_leaves_still_train():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200)})
    y = pd.cut(X["a"], 6, labels=list("abcdef")).astype(str)
    fitted = GradTreeClassifier(**{**QUICK, "max_leaf_nodes": 2}).fit(X, y)
    assert fitted.tree_.n_leaves == 2
    assert set(fitted.predict(X)) <= set("abcdef")


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_no_column_that_tells_anything_leaves_one_leaf(task):
    X = pd.DataFrame({"same": np.ones(40)})
    y = np.arange(40) % 4
    fitted = learner(task).fit(X, y if task == "regression" else y > 1)
    assert fitted.tree_.n_leaves == 1
    assert fitted.origin_.n_splits == 0


@pytest.mark.slow
def test_fewer_rows_than_a_batch_train():
    _, X, y = table("iris")
    assert GradTreeClassifier(**QUICK, batch_size=4096).fit(X, y).score(X, y) > 0.9


@pytest.mark.slow
def test_a_large_table_trains_on_all_rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(5200, 3)))
    fitted = GradTreeClassifier(**QUICK).fit(X, (X[0] > 0) & (X[1] > 0))
    assert fitted.tree_.n_rows[0] == len(X)
    assert fitted.path_.scores["standard_error"].notna().all()


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("max_depth", 0),
        ("max_depth", 40),
        ("max_leaf_nodes", 1),
        ("n_restarts", 0),
        ("recipe", "book"),
        ("loss", "hinge"),
        ("decision", "tanh"),
        ("selector", "argmax"),
        ("learning_rate_leaf", -0.1),
        ("n_steps", 0),
        ("batch_size", 1.5),
        ("class_weight", "heavy"),
        ("patience", 0),
    ],
)
def test_a_setting_out_of_range_is_refused_by_name(setting, value):
    _, X, y = table("iris")
    with pytest.raises(ValueError, match=setting):
        GradTreeClassifier(**{setting: value}).fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize("loss", slow_after(1, ["focal", "poly", "brier"]))
def test_every_loss_trains(loss):
    _, X, y = table("iris")
    assert GradTreeClassifier(**QUICK, loss=loss).fit(X, y).score(X, y) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("most", slow_after(1, [3, 2, 7]))
def test_no_tree_has_more_leaves_or_levels_than_it_may(most):
    _, X, y = table("mixed")
    fitted = GradTreeClassifier(**{**QUICK, "max_leaf_nodes": most, "max_depth": 2})
    fitted.fit(X, y)
    for tree in fitted.path_.trees:
        assert tree.n_leaves <= most
        assert tree.depth <= 2


def rare_class():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    return X, np.where(rng.random(600) < 0.1 + 0.25 * (X[:, 0] > 0.5), "ill", "well")


@pytest.mark.slow
def test_rare_classes_are_weighted_where_that_scores_better_and_the_tree_says_so():
    X, y = rare_class()
    fitted = GradTreeClassifier(**QUICK).fit(X, y)
    assert "ill" in fitted.predict(X)
    assert any("ill" in note for note in fitted.tree_.notes)
    even = GradTreeClassifier(**QUICK, class_weight=None).fit(X, y)
    assert even.tree_.notes == (str(even.origin_),)


@pytest.mark.slow
def test_a_given_class_weight_is_that_of_the_leaves():
    X, y = rare_class()
    fitted = GradTreeClassifier(**QUICK, class_weight={"ill": 3.0, "well": 1.0})
    tree = fitted.fit(X, y).tree_
    is_ill, leaf = y == "ill", tree.apply(X)
    for own in np.unique(leaf):
        ill, well = 3 * is_ill[leaf == own].sum(), (~is_ill[leaf == own]).sum()
        assert tree.predicted_class[own] == np.argmax([ill, well])
    assert tree.n_leaves > 1
    assert "ill" in tree.notes[1]


@pytest.mark.slow
def test_a_table_of_a_thousand_columns_trains(small_search):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 1000))
    y = (X[:, 321] > 0).astype(int)
    fitted = GradTreeClassifier(**CHECKED).fit(X, y)
    assert fitted.score(X, y) > 0.95


def test_missing_values_and_categories_train_and_are_predicted():
    _, X, y = table("mixed")
    assert X.isna().any().any()
    fitted = GradTreeClassifier(**QUICK).fit(X, y)
    new = X.head(0).reindex([1, 2, 3])  # nothing is known of them
    assert set(fitted.predict(new)) <= set(y)


@pytest.mark.slow
def test_merged_leaves_predict_the_weighted_classes_of_their_own_rows():
    _, X, y = table("mixed")
    fitted = GradTreeClassifier(
        max_leaf_nodes=16, n_restarts=2, n_steps=20, class_weight="balanced"
    ).fit(X, y)
    tree, codes = fitted.tree_, np.searchsorted(fitted.classes_, y)
    weight = (len(y) / np.bincount(codes))[codes]
    leaf = tree.apply(X)
    for node in np.unique(leaf):
        here = leaf == node
        total = np.bincount(codes[here], weight[here], len(fitted.classes_))
        assert tree.predicted_class[node] == total.argmax()
        assert tree.class_counts[node].tolist() == list(
            np.bincount(codes[here], minlength=len(fitted.classes_))
        )


@pytest.mark.parametrize("how", [{"recipe": "paper"}, {"start": "random"}])
def test_complete_trees_take_no_number_of_leaves(how):
    _, X, y = table("iris")
    with pytest.raises(ValueError, match="max_leaf_nodes=4 needs start='greedy'"):
        GradTreeClassifier(max_leaf_nodes=4, **how).fit(X, y)


@pytest.mark.slow
def test_greedy_starts_may_stop_early_and_keep_the_leaves_that_trained():
    _, X, y = table("iris")
    fitted = GradTreeClassifier(**QUICK | EARLY, max_epochs=20)
    origin = fitted.fit(X, y).origin_
    assert (origin.start, origin.held_out) == ("greedy", "a fifth of the rows")
    assert fitted.score(X, y) > 0.9
    assert fitted.history_["valid_loss"].notna().all()
    with pytest.raises(ValueError, match="patience=5 needs early_stopping=True"):
        GradTreeClassifier(patience=5).fit(X, y)


@pytest.mark.parametrize("how", [{"recipe": "paper"}, {"early_stopping": True}])
def test_what_stops_early_takes_no_number_of_steps(how):
    _, X, y = table("iris")
    with pytest.raises(ValueError, match="n_steps=50 needs early_stopping=False"):
        GradTreeClassifier(n_steps=50, **how).fit(X, y)


def test_early_stopping_takes_groups(small_search):
    _, X, y = table("iris")
    fitted = GradTreeClassifier(**CHECKED | EARLY, max_epochs=2)
    fitted.fit(X, y, groups=np.arange(len(X)) % 30)
    assert fitted.tree_.n_rows[0] == len(X)


@pytest.mark.slow
@pytest.mark.parametrize("given", [False, True])
def test_the_papers_recipe_says_what_it_selected_on(given):
    _, X, y = table("iris")
    more = {"X_valid": X[::5], "y_valid": y[::5]} if given else {}
    fitted = GradTreeClassifier(recipe="paper", max_depth=2, max_epochs=2)
    origin = fitted.fit(X, y, **more).origin_
    assert origin.held_out == ("validation rows" if given else "a fifth of the rows")
    assert fitted.fit(X[45:54], y[45:54]).tree_.n_rows[0] == 9
    assert fitted.origin_.held_out == ""
    assert fitted.fit(X[:12], np.arange(12)).origin_.held_out == ""  # no row to spare
