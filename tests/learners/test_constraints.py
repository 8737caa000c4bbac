"""Each learner keeps each constraint, on every possible row, or says that it cannot."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from treelab.learners.cart.estimators import CartClassifier, CartRegressor
from treelab.learners.get.estimators import GetClassifier, GetRegressor
from treelab.learners.gradtree.estimators import GradTreeClassifier, GradTreeRegressor
from treelab.learners.grande.estimators import GrandeClassifier, GrandeRegressor
from treelab.learners.registry import complete_settings
from treelab.trees.constraints import Constraints, cost_matrix, violations

ASKED = {
    "monotone": {"monotone": "age: up, debt: down"},
    "allowed": {"allowed": "0: noise; other: age, debt"},
    "together": {"together": "age, job; debt, noise"},
    "columns": {"max_columns": 1},
    "rows": {"min_samples_leaf": 30},
    "all": {
        "monotone": "age: up, debt: down",
        "allowed": "0: age, job",
        "together": "age, job; age, debt",
        "max_columns": 2,
        "min_samples_leaf": 10,
    },
}
SMALL = {"n_steps": 15, "n_restarts": 1, "max_leaf_nodes": 8}


def table(n=150, seed=0):
    """Wavy in age, so that a free tree is not monotone; values are missing."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.uniform(20, 80, n).round(),
            "debt": rng.exponential(size=n),
            "job": rng.choice(["clerk", "nurse", "cook"], n),
            "noise": rng.normal(size=n),
        }
    )
    wave = np.sin(X["age"] / 6) + 0.02 * X["age"] - X["debt"] * (X["job"] == "cook")
    X.loc[rng.random(n) < 0.1, "age"] = np.nan
    return X, (wave.fillna(0) + 0.2 * rng.normal(size=n)).to_numpy()


def fitted(kind, constraints, seed=0):
    X, y = table(seed=seed)
    labels = np.array(["low", "high"])[(y > np.median(y)).astype(int)]
    given = {"random_state": 0, "constraints": constraints}
    if kind == "gradtree":
        return GradTreeClassifier(**given, **SMALL).fit(X, labels)
    if kind == "gradtree regression":
        return GradTreeRegressor(**given, **SMALL).fit(X, y)
    if kind == "cart":
        return CartClassifier(**given, tune=False, max_leaf_nodes=20).fit(X, labels)
    return CartRegressor(**given, tune=False, max_leaf_nodes=12).fit(X, y)


LONG = {("gradtree", "allowed"), ("gradtree", "together"), ("gradtree", "rows")}
EACH = [
    pytest.param(kind, asked, marks=pytest.mark.slow if (kind, asked) in LONG else ())
    for kind in ("cart", "cart regression", "gradtree")
    for asked in ASKED
]


@pytest.mark.parametrize(("kind", "asked"), EACH)
def test_single_trees_keep_what_is_asked_at_every_size(kind, asked):
    learner = fitted(kind, ASKED[asked])
    assert learner.constraints_ == Constraints.read(ASKED[asked])
    for tree in learner.path_.trees:
        assert not violations(tree, learner.constraints_)
    assert str(learner.constraints_) in " ".join(learner.tree_.notes)


@pytest.mark.slow
def test_a_gradient_regression_tree_is_monotone_where_the_free_one_is_not():
    asked = Constraints(monotone="age: up")
    assert violations(fitted("gradtree regression", None).tree_, asked)
    kept = fitted("gradtree regression", asked).tree_
    assert kept.n_leaves > 2
    assert not violations(kept, asked)


@pytest.mark.slow
def test_a_tuned_tree_keeps_what_is_asked_at_every_size():
    X, y = table(40)
    asked = Constraints(monotone="age: up", min_samples_leaf=3)
    path = CartRegressor(random_state=0, constraints=asked).fit(X, y).path_
    assert not [text for tree in path.trees for text in violations(tree, asked)]
    assert np.isfinite(path.scores["score"]).all()


def test_grande_keeps_columns_in_every_tree():
    X, y = table()
    asked = {"allowed": "0: job; other: age, noise", "max_columns": 2}
    learner = GrandeClassifier(
        n_estimators=4,
        depth=2,
        n_folds=1,
        max_epochs=1,
        random_state=0,
        constraints=asked,
    ).fit(X, y > np.median(y))
    trees = [
        learner.ensemble_.estimator(e, X, y > np.median(y))
        for e in range(learner.ensemble_.n_estimators)
    ]
    assert len({name for tree in trees for name in tree.columns}) <= 2
    assert not [v for t in trees for v in violations(t, learner.constraints_)]


@pytest.mark.parametrize(
    ("seed", "asked"),
    [
        (0, {"allowed": "0: noise; 1: job, debt; other: age, debt"}),
        (3, {"monotone": "age: up, debt: down"}),
    ],
)
def test_grandes_trees_keep_what_is_asked_as_they_are_drawn(seed, asked):
    X, y = table(seed=seed)  # a complete tree of it has branches without training rows
    learner = GrandeRegressor(
        n_estimators=16,
        depth=4,
        n_folds=1,
        max_epochs=3,
        random_state=seed,
        constraints=asked,
    ).fit(X, y)
    ensemble = learner.ensemble_
    trees = [ensemble.estimator(e) for e in range(ensemble.n_estimators)]
    assert not [v for t in trees for v in violations(t, learner.constraints_)]
    assert max(tree.depth for tree in trees) > 1


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (
            GrandeClassifier(
                constraints={"column_costs": "age: 9, debt: 9, job: 9, noise: 9"}
            ),
            "No column saves what it costs",
        ),
        (CartClassifier(constraints={"monotone": "aeg: up"}), "column 'aeg'"),
        (CartClassifier(constraints={"monotone": "job: up"}), "holds categories"),
        (CartClassifier(constraints={"max_columns": 0}), "max_columns must be"),
        (
            CartClassifier(constraints={"max_columns": 2}, ccp_alpha=0.1),
            "ccp_alpha must be 0",
        ),
        (
            CartClassifier(
                constraints={"class_costs": "a as b: 2"}, class_weight="balanced"
            ),
            "both weigh the classes",
        ),
        (
            GradTreeClassifier(constraints={"max_columns": 2}, recipe="paper"),
            "paper's recipe, keep no constraints",
        ),
        (
            GetClassifier(constraints={"class_costs": "a as b: 2", "max_columns": 2}),
            "GET keeps no constraints but class_costs",
        ),
        (
            GetClassifier(constraints={"class_costs": "a as b: 2"}, class_weight={}),
            "both weigh the classes",
        ),
    ],
)
def test_what_cannot_be_kept_is_refused_in_a_sentence(learner, words):
    X, y = table(40)
    with pytest.raises(ValueError, match=words):
        learner.fit(X, np.where(y > 0, "a", "b"))


def test_learners_without_constraints_refuse_them():
    with pytest.raises(ValueError, match="GET keeps no constraints; CART, GradTree"):
        complete_settings("get", "regression", {"constraints": {"max_columns": 2}})
    with pytest.raises(TypeError):
        GetRegressor(constraints={"max_columns": 2})


def test_who_asks_for_costs_of_errors_alone_is_told_of_get_too():
    costs, columns = {"class_costs": "a as b: 2"}, {"max_columns": 2}
    for asked, others in (
        (costs, "CART, GradTree, GET and GRANDE"),
        (columns, "CART, GradTree and GRANDE"),
        (costs | columns, "CART, GradTree and GRANDE"),
    ):
        with pytest.raises(ValueError, match=f"no constraints; {others} do"):
            complete_settings("argmin", "binary", {"constraints": asked})


def test_costs_move_the_decision_and_not_only_the_threshold_of_one():
    X, y = table(300)
    labels = np.where(y > np.quantile(y, 0.7), "bad", "good")
    asked = {"class_costs": "bad as good: 10"}
    called = {}
    for constraints in (None, asked):
        cart = CartClassifier(
            tune=False, min_samples_leaf=20, constraints=constraints
        ).fit(X, labels)
        called[bool(constraints)] = (cart.predict(X) == "bad").mean()
    assert called[True] > called[False]


def test_what_costs_least_by_its_probabilities_is_what_grande_predicts():
    X, y = table(300)
    labels = np.array(["a", "b", "c"])[y.argsort().argsort() // 100]
    asked = Constraints(class_costs="a as c: 10, c as a: 10")
    grande = GrandeClassifier(
        n_estimators=4, max_epochs=3, constraints=asked, random_state=0
    ).fit(X, labels)
    costs = grande.predict_proba(X) @ cost_matrix(asked, grande.labels())
    wanted = grande.classes_[costs.argmin(axis=1)]
    assert (grande.predict(X) == wanted).all()
    assert (wanted != grande.classes_[grande.predict_proba(X).argmax(axis=1)]).any()


@pytest.mark.parametrize("model", [CartClassifier(), GradTreeClassifier(**SMALL)])
def test_what_costs_least_by_its_probabilities_is_what_a_tree_predicts(model):
    (X, y), (X_new, _) = table(300), table(500, seed=9)
    labels = np.array(["a", "b", "c"])[y.argsort().argsort() // 100]
    asked = Constraints(class_costs="a as c: 10, c as a: 10, b as a: 3")
    model = clone(model).set_params(constraints=asked, random_state=0).fit(X, labels)
    expected = model.predict_proba(X_new) @ cost_matrix(asked, model.labels())
    wanted = model.classes_[expected.argmin(axis=1)]
    assert (model.predict(X_new) == wanted).all()
    for tree in model.path_.trees:  # at the splits, too, which a pruning makes leaves
        costs = tree.value @ cost_matrix(asked, tree.classes)
        assert (tree.predicted_class == costs.argmin(axis=1)).all()


@pytest.mark.parametrize(
    ("names", "costs"),
    [("ab", "a as b: 10"), ("abc", "a as b: 10, a as c: 2, b as c: 5")],
)
def test_get_by_costs_costs_less_and_its_leaves_predict_what_costs_least(names, costs):
    (X, y), (X_new, y_new) = table(400, seed=20), table(2000, seed=21)
    classes, asked = tuple(names), Constraints(class_costs=costs)
    bounds = np.quantile(y, np.arange(1, len(classes)) / len(classes))
    codes, new = np.searchsorted(bounds, y), np.searchsorted(bounds, y_new)
    matrix, paid = cost_matrix(asked, classes), []
    for constraints in (None, asked):
        get = GetClassifier(
            n_steps=60, n_starts=2, constraints=constraints, random_state=0
        ).fit(X, np.array(classes)[codes])
        predicted = np.searchsorted(classes, get.predict(X_new))
        paid.append(matrix[new, predicted].mean())
    assert paid[1] < 0.8 * paid[0]
    tree = get.tree_
    assert (tree.predicted_class == (tree.value @ matrix).argmin(axis=1)).all()
    assert abs(tree.value[0] - np.bincount(codes) / len(codes)).max() < 1e-9


def test_costs_choose_the_size_too():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300)})
    labels = np.where(rng.random(300) < 0.2 + 0.2 * (X["a"] > 0), "bad", "good")
    asked = {"class_costs": "bad as good: 10"}
    cart = CartClassifier(constraints=asked, random_state=0).fit(X, labels)
    scores = cart.path_.scores["score"].to_numpy()
    # Hardly a leaf has no bad row: one prediction for all costs nearly least.
    assert abs(scores[:3]).max() < 0.2
    assert cart.tree_.n_leaves < 6
    assert (cart.predict(X) == "bad").mean() > 0.9


def test_scikit_learn_copies_and_searches_them():
    X, y = table(60)
    cart = CartRegressor(tune=False, max_leaf_nodes=4, constraints={"max_columns": 1})
    assert clone(cart).get_params() == cart.get_params()
    tried = [{"max_columns": 1}, Constraints(monotone={"age": 1}), None]
    search = GridSearchCV(cart, {"constraints": tried}, cv=2).fit(X, y)
    assert search.best_estimator_.tree_.n_leaves > 1
