"""A function as the loss: it stands for the built-in loss that it repeats."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from tests.learners.test_frames import learner
from tests.learners.test_losses import rows
from treelab import CartRegressor
from treelab.learners.common.callable_loss import CallableLoss
from treelab.trees.losses import Loss
from treelab.trees.tree import Tree


def squares(raw, y):
    """The squared error."""
    return (raw - y) ** 2


def pinball(raw, y):
    """Quantile loss at 0.8."""
    return torch.maximum(0.8 * (y - raw), 0.2 * (raw - y))


def wide(raw, y):
    """Huber's loss, linear from 0.5 on."""
    return torch.nn.functional.huber_loss(raw, y, reduction="none", delta=0.5)


def relative(raw, y):
    """Relative error: another loss where a number is added to all targets."""
    return (raw - y).abs() / y


PAIRS = [
    (squares, Loss()),
    (pinball, Loss("quantile", 0.8)),
    (wide, Loss("huber", 0.5)),
]


@pytest.mark.parametrize(("function", "same"), PAIRS)
def test_a_function_has_the_rows_slopes_and_constants_of_its_built_in(function, same):
    _, y = rows()
    rng = np.random.default_rng(0)
    group, weight, base = rng.integers(0, 9, 300), rng.uniform(0.5, 2, 300), 0.3 * y
    loss = CallableLoss.of(function, y)
    constant = same.constants(np.zeros(300, dtype=int), y, np.ones(300), 1)[0]
    unit = same.rows(constant + 0 * y, y).mean()
    assert loss.unit == pytest.approx(unit)
    np.testing.assert_allclose(unit * loss.rows(base, y), same.rows(base, y))
    np.testing.assert_allclose(
        unit * loss.slope(base, y), same.slope(base, y), rtol=1e-6
    )
    for start in (None, base):
        own = group, y, weight, 10, start
        found, expected = loss.constants(*own), same.constants(*own)
        np.testing.assert_allclose(found, expected, rtol=1e-6)  # NaN without rows
    scaled = loss.scaled(8.0)
    np.testing.assert_allclose(scaled.rows(8 * base, 8 * y), loss.rows(base, y))
    np.testing.assert_allclose(
        scaled.constants(group, 8 * y, weight, 10), 8 * loss.constants(*own[:4])
    )


def test_the_best_constant_may_lie_beyond_all_targets():
    def twice(raw, y):
        return (raw - 2 * y) ** 2

    y = np.arange(10.0, 20.0)
    loss = CallableLoss.of(twice, y)
    found = loss.constants(np.zeros(10, dtype=int), y, np.ones(10), 1)
    assert found == pytest.approx(2 * y.mean())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "same"), [(squares, {}), (wide, {"loss": "huber", "huber_delta": 0.5})]
)
def test_cart_by_a_function_is_cart_by_its_built_in(function, same):
    X, y = rows()
    y = y / y.std()  # Huber's delta counts in these
    ours, theirs = (
        CartRegressor(random_state=0, **own).fit(X, y)
        for own in ({"loss": function}, same)
    )
    assert ours.tree_.n_leaves > 1
    np.testing.assert_array_equal(ours.tree_.feature, theirs.tree_.feature)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6)
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), rel=1e-6)


@pytest.mark.parametrize(
    "key",
    [
        "cart",
        "get",
        *(pytest.param(k, marks=pytest.mark.slow) for k in ("gradtree", "grande")),
    ],
)
def test_every_learner_predicts_by_a_function(key):
    X, y = rows()
    settings = {"max_leaf_nodes": 6} if key == "cart" else {}
    model = learner(key, "regression", loss=relative, **settings)
    assert clone(model).get_params()["loss"] is relative
    model.fit(X, y)
    lost = (abs(model.predict(X) - y) / y).mean()
    constant = CallableLoss.of(relative, y).constants(0 * y.astype(int), y, y / y, 1)
    assert lost < 0.95 * (abs(constant - y) / y).mean()
    assert model.score(X, y) > 0.05
    assert "relative, a function in Python" in " ".join(model.model_.notes)


def test_cross_validation_takes_a_function():
    X, y = rows()
    model = CartRegressor(loss=relative, tune=False, max_leaf_nodes=4, random_state=0)
    assert (cross_val_score(model, X, y, cv=3) > 0).all()


@pytest.mark.slow
def test_a_stored_tree_keeps_the_name_and_says_that_it_cannot_be_scored(tmp_path):
    X, y = rows()
    model = CartRegressor(loss=relative, max_leaf_nodes=4, random_state=0).fit(X, y)
    model.tree_.save(tmp_path / "tree")
    again = Tree.load(tmp_path / "tree")
    assert (again.loss.name, again.loss.title) == ("callable", "relative")
    frame = model._read_frame(X, reset=False)
    np.testing.assert_array_equal(again.predict(frame), model.predict(X))
    for ask in (
        lambda: again.loss.score(again.predict(frame), y),
        lambda: again.with_rows(frame, y),
    ):
        with pytest.raises(ValueError, match="relative, a function in Python"):
            ask()


WRONG = {
    "of shape": lambda raw, y: ((raw - y) ** 2).mean(),
    "got float": lambda raw, y: 1.0,
    "at least 0": lambda raw, y: (raw - y) ** 2 - 9,
    "no gradient": lambda raw, y: (raw.detach() - y) ** 2,
    "no number": lambda raw, y: (raw - y) ** 2 * float("nan"),
    "no constant": lambda raw, y: y - raw,
}


@pytest.mark.parametrize("words", WRONG)
def test_what_is_no_loss_is_refused_in_a_sentence(words):
    X, y = rows()
    with pytest.raises(ValueError, match=words):
        CartRegressor(loss=WRONG[words]).fit(X, y)
