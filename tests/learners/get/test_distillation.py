import numpy as np
import pytest

from tests.learners.get.tables import wavy_rows
from tests.learners.get.test_estimators import mixed_table
from treelab.learners.get.distillation import distil, synthetic_rows
from treelab.learners.get.estimators import GetRegressor
from treelab.learners.get.leaves import level_linear_models
from treelab.learners.get.rows import Rows


def noisy_rows(n_rows, seed):
    """Rows of a bent surface under heavy noise, and the surface itself."""
    rng = np.random.default_rng(seed)
    x = rng.random((n_rows, 3))
    truth = np.sin(5 * x[:, 0]) + x[:, 1] * x[:, 2]
    return Rows(x, truth + rng.normal(size=n_rows), np.ones(n_rows), 0), truth


def distilled(rows, n_trees, seed=0, **options):
    """What ``distil`` returns for rows and a few others."""
    valid = Rows(rows.x[:50], rows.y[:50], np.ones(50), 0)
    return distil(rows, valid, 6, n_trees, np.random.default_rng(seed), **options)


def test_soft_targets_are_those_of_the_rows_and_then_of_synthetic_ones():
    rows = wavy_rows(200, 0)
    soft, soft_valid = distilled(rows, 4)
    assert (soft.x[:200] == rows.x).all()
    assert len(soft.x) == len(soft.weight) == 200 + soft.n_synthetic
    assert soft.n_synthetic > 200
    assert soft.y[200:].min() >= rows.y.min()
    assert soft.y[200:].max() <= rows.y.max()
    assert len(soft_valid.y) == 50


def test_soft_targets_are_closer_to_the_truth_than_the_rows_are():
    rows, truth = noisy_rows(400, 0)
    soft, _ = distilled(rows, 10)
    far = ((rows.y - truth) ** 2).mean()
    assert ((soft.y[:400] - truth) ** 2).mean() < 0.5 * far


def test_the_same_seed_gives_the_same_soft_targets():
    (first, _), (second, _) = (distilled(wavy_rows(150, 0), 3) for _ in "ab")
    assert (first.x == second.x).all()
    assert (first.y == second.y).all()


def test_distillation_can_be_stopped():
    asked = []

    def should_stop():
        asked.append(1)
        return len(asked) > 2

    assert distilled(wavy_rows(150, 0), 5, should_stop=should_stop) is None
    assert len(asked) == 3


@pytest.mark.parametrize("n_rows", [1, 2, 5, 200])
def test_synthetic_rows_take_every_number_from_a_row(n_rows):
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=(n_rows, 3)), np.full(n_rows, 7.0)])
    found = synthetic_rows(x, 300, rng)
    assert found.shape == (300, 4)
    for column in range(4):
        assert np.isin(found[:, column], x[:, column]).all()


def test_synthetic_rows_do_not_earn_a_leaf_its_linear_model():
    rng = np.random.default_rng(0)
    x = rng.random((60, 3))
    y = x @ [1.0, 2.0, 3.0]
    leaf = np.zeros(60, dtype=int)
    linear = level_linear_models(leaf, x, y, 1, n_synthetic=55)[-1]
    constant = level_linear_models(leaf, x, y, 1, n_synthetic=57)[-1]
    assert linear.weights.any()
    assert not constant.weights.any()


@pytest.mark.usefixtures("standard_budget")
@pytest.mark.parametrize("seed", range(2))
def test_with_polish_the_training_loss_is_no_higher(seed):
    rows, valid = wavy_rows(300, seed), wavy_rows(100, seed + 10)
    settings = {
        "leaves": "linear",
        "max_depth": 4,
        "n_starts": 3,
        "max_epochs": 6,
        "sparse_tolerance": 0.0,
        "random_state": seed,
    }
    without, polished = (
        GetRegressor(polish=polish, **settings)
        .fit(rows.x, rows.y, X_valid=valid.x, y_valid=valid.y)
        .score(rows.x, rows.y)
        for polish in (False, True)
    )
    assert polished >= without - 1e-9


@pytest.mark.usefixtures("standard_budget")
def test_a_distilled_tree_predicts_for_categories_and_missing_values():
    X, y = mixed_table(300)
    model = GetRegressor(
        leaves="linear", max_depth=3, n_starts=3, max_epochs=6, random_state=0
    ).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.6
    tree = model.tree_
    assert np.allclose(tree.predict(X), model.predict(X))
    assert (tree.n_rows > 0).all()
    assert tree.n_rows[0] == 200
    assert "distillation" in model.origin_.later


def test_a_quick_tree_is_not_distilled_and_has_no_note_of_it():
    X, y = mixed_table(200)
    model = GetRegressor(leaves="linear", budget="quick", random_state=0).fit(X, y)
    assert "distillation" not in model.origin_.later
