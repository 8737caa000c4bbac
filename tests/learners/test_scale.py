"""The units of the target and of the columns do not matter to any learner."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.tree import DecisionTreeRegressor

from treelab.learners.argmin.estimators import ArgminTreeClassifier, ArgminTreeRegressor
from treelab.learners.cart.estimators import CartClassifier, CartRegressor
from treelab.learners.common.target import TargetScale
from treelab.learners.get.estimators import GetClassifier, GetRegressor
from treelab.learners.gradtree.estimators import GradTreeClassifier, GradTreeRegressor
from treelab.learners.grande.estimators import GrandeClassifier, GrandeRegressor
from treelab.learners.optimal.estimators import (
    OptimalTreeClassifier,
    OptimalTreeRegressor,
)

CART = {"max_leaf_nodes": 6, "tune": False}
GRADTREE = {"max_leaf_nodes": 4, "n_restarts": 2, "n_steps": 20}
PAPER = {"recipe": "paper", "max_depth": 2, "n_restarts": 1, "max_epochs": 15}
GET = {"max_depth": 2, "n_starts": 2, "n_steps": 30}
ARGMIN = {"depth": 2, "pruning_strength": (0.0, 1.0), "max_epochs": 15}
ARGMIN |= {"n_restarts": 2}
GRANDE = {"n_estimators": 4, "depth": 2, "n_folds": 2, "max_epochs": 3}
REGRESSORS = {
    "cart": CartRegressor(random_state=0),
    "plain cart": CartRegressor(random_state=0, **CART),
    "monotone cart": CartRegressor(random_state=0, constraints={"monotone": "a: up"}),
    "optimal": OptimalTreeRegressor(max_depth=2, n_thresholds=8, random_state=0),
    "gradtree": GradTreeRegressor(random_state=0, **GRADTREE),
    "gradtree, paper": GradTreeRegressor(random_state=0, **PAPER),
    "get": GetRegressor(random_state=0, **GET),
    "get-linear": GetRegressor(leaves="linear", random_state=0, **GET),
    "argmin": ArgminTreeRegressor(random_state=0, **ARGMIN),
    "argmin leaf": ArgminTreeRegressor(predictor="leaf", random_state=0, **ARGMIN),
    "grande": GrandeRegressor(random_state=0, **GRANDE),
}
CLASSIFIERS = {
    "cart": CartClassifier(random_state=0),
    "optimal": OptimalTreeClassifier(max_depth=2, n_thresholds=8, random_state=0),
    "gradtree": GradTreeClassifier(random_state=0, **GRADTREE),
    "get": GetClassifier(random_state=0, **GET),
    "argmin": ArgminTreeClassifier(random_state=0, **ARGMIN),
    "grande": GrandeClassifier(random_state=0, **GRANDE),
}
NUMBERS = ["a", "b", "c"]


@dataclass(frozen=True)
class Change:
    """Another unit, and another zero point, for the target and for columns."""

    y: float = 1.0
    y_offset: float = 0.0
    x: tuple[float, float, float] = (1.0, 1.0, 1.0)
    x_offset: float = 0.0

    def __call__(self, X, y):
        X = X.copy()
        X[NUMBERS] = X[NUMBERS] * np.array(self.x) + self.x_offset
        return X, y * self.y + self.y_offset


# Of the target and of the columns at once; a classifier's target has no unit.
CHANGES = {
    "units that differ": Change(1e-10, 0.1, (1e-10, 1e10, 1e-3)),
    "y * 1e-200, X * 1e100": Change(y=1e-200, x=(1e100,) * 3),
    "y * 1e100, X * 1e-200": Change(y=1e100, x=(1e-200,) * 3),
    "y + 1e12, X + 1e12": Change(y_offset=1e12, x_offset=1e12),
}


def table(n=160, seed=0):
    """Numbers with a missing value here and there, a category, and a number."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)).round(2), columns=NUMBERS)
    X["job"] = rng.choice(["cook", "nurse", "clerk"], n)
    y = 3.0 * (X["a"] > 0.2) + 2.0 * (X["job"] == "cook") + 0.5 * X["b"]
    y += 0.2 * rng.normal(size=n)
    X.loc[rng.random(n) < 0.05, "c"] = np.nan
    return X, y.to_numpy()


def r2(truth, predicted):
    """R², in units of the truth, whose squares may leave float64."""
    truth, predicted = truth - truth.mean(), predicted - truth.mean()
    size = np.abs(truth).max()
    error, variation = ((truth - predicted) / size) ** 2, (truth / size) ** 2
    return 1 - error.sum() / variation.sum()


@pytest.fixture(scope="module")
def plain():
    """Fit each learner once to the table as it is."""
    fits = {}

    def fitted(kind, name):
        if (kind, name) not in fits:
            X, y = table()
            known = CLASSIFIERS if kind == "class" else REGRESSORS
            target = y > np.median(y) if kind == "class" else y
            fits[kind, name] = clone(known[name]).fit(X, target)
        return fits[kind, name]

    return fitted


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", [name for name in REGRESSORS if name != "plain cart"])
def test_a_regressor_explains_as_much_in_any_unit(plain, name, change):
    X, y = table()
    expected = r2(y, plain("number", name).predict(X))
    X, y = CHANGES[change](X, y)
    model = clone(REGRESSORS[name]).fit(X, y)
    assert r2(y, model.predict(X)) == pytest.approx(expected, abs=0.01)
    assert model.score(X, y) == pytest.approx(expected, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_classifier_is_right_as_often_in_any_unit(plain, name, change):
    X, y = table()
    y = y > np.median(y)
    expected = plain("class", name).score(X, y)
    X, _ = CHANGES[change](X, y)
    assert clone(CLASSIFIERS[name]).fit(X, y).score(X, y) == pytest.approx(
        expected, abs=0.01
    )


@pytest.mark.parametrize("name", ["plain cart", "optimal"])
@given(
    k_y=st.integers(-200, 100),
    k_x=st.tuples(*[st.integers(-200, 100)] * 3),
    y_offset=st.sampled_from([0.0, 1e6, -1e9]),
)
@settings(max_examples=10)
def test_a_greedy_tree_is_the_same_tree_in_any_unit(plain, name, k_y, k_x, y_offset):
    X, y = table()
    first = plain("number", name).tree_
    change = Change(10.0**k_y, y_offset * 10.0**k_y, tuple(10.0**k for k in k_x))
    scaled, target = change(X, y)
    model = clone(REGRESSORS[name]).fit(scaled, target)
    tree = model.tree_
    assert tree.feature.tolist() == first.feature.tolist()
    assert tree.apply(scaled).tolist() == first.apply(X).tolist()
    factor = np.array([*change.x, 1.0])[tree.feature]
    numbers = (tree.feature >= 0) & (tree.feature < 3)
    assert np.allclose(
        (tree.threshold / factor)[numbers], first.threshold[numbers], rtol=1e-14
    )
    value = (tree.value - change.y_offset) / change.y
    assert np.allclose(value, first.value, atol=1e-5)
    scale = np.abs(first.impurity).max()
    if k_y > -150:
        assert np.allclose(
            tree.impurity / change.y**2, first.impurity, atol=1e-5 * scale
        )


@pytest.mark.parametrize("name", ["plain cart", "optimal", "gradtree"])
def test_a_threshold_is_the_midpoint_of_two_training_values(plain, name):
    X, y = Change(x_offset=1e9)(*table())
    tree = clone(REGRESSORS[name]).fit(X, y).tree_
    for j, column in enumerate(NUMBERS):
        values = np.unique(X[column].dropna())
        for threshold in tree.threshold[tree.feature == j]:
            below, above = values[values <= threshold], values[values > threshold]
            pairs = below[:, None] + (above[None] - below[:, None]) / 2
            assert (pairs == threshold).any()


def test_ccp_alpha_counts_in_squared_units_of_the_target():
    X, y = table()
    plain = CartRegressor(ccp_alpha=0.1, random_state=0, tune=False).fit(X, y)
    scaled = CartRegressor(ccp_alpha=0.1e-20, random_state=0, tune=False)
    assert 1 < plain.tree_.n_leaves < 20
    assert scaled.fit(X, y * 1e-10).tree_.n_leaves == plain.tree_.n_leaves


def test_ccp_alpha_of_counts_is_that_of_scikit_learns_poisson_tree():
    X, counts = table()[0][NUMBERS].fillna(0), np.abs(table()[1]).round()
    how = {"ccp_alpha": 0.02, "random_state": 0}
    own = CartRegressor(loss="poisson", tune=False, **how).fit(X, counts).tree_
    theirs = DecisionTreeRegressor(criterion="poisson", **how).fit(X, counts)
    assert own.n_leaves == theirs.get_n_leaves() > 2


@given(
    y=st.lists(st.floats(-1e3, 1e3, allow_subnormal=False), min_size=1, max_size=30),
    k=st.integers(-200, 100),
    offset=st.sampled_from([0.0, 1.0, 1e6]),
)
@example([0.1, 0.1, 0.1], 0, 0.0)
def test_a_target_is_standardised_and_restored_in_any_unit(y, k, offset):
    y = (np.array(y) + offset) * 10.0**k
    tiny = 4 * np.finfo(float).eps * np.abs(y).max()
    for scale in (TargetScale.of(y), TargetScale.rounded(y)):
        z = scale.standardise(y)
        assert np.isfinite(z).all()
        assert np.abs(scale.restore(z) - y).max() <= tiny
    if np.ptp(y) > 1e3 * tiny:
        z = TargetScale.of(y).standardise(y)
        assert abs(z.mean()) < 1e-2
        assert z.std() == pytest.approx(1, rel=1e-2)


def test_a_rounded_scale_changes_no_digit_of_whole_numbers():
    y = np.random.default_rng(0).integers(-1000, 1000, 50) + 10.0**9
    scale = TargetScale.rounded(y)
    z = scale.standardise(y)
    assert (scale.restore(z) == y).all()
    assert scale.restore(z[:4].mean()) == y[:4].mean()
