import numpy as np
import pytest

from tests.learners.get.tables import wavy_rows
from tests.learners.get.test_estimators import mixed_table
from treelab.learners.get.bagging import imagined, teach
from treelab.learners.get.estimators import GetRegressor
from treelab.learners.get.leaves import level_formulas
from treelab.learners.get.trees import Rows


def noisy_rows(n_rows, seed):
    """Rows of a bent surface under heavy noise, and the surface itself."""
    rng = np.random.default_rng(seed)
    x = rng.random((n_rows, 3))
    truth = np.sin(5 * x[:, 0]) + x[:, 1] * x[:, 2]
    return Rows(x, truth + rng.normal(size=n_rows), np.ones(n_rows), 0), truth


def test_the_lesson_holds_the_rows_and_then_imagined_ones():
    rows = wavy_rows(200, 0)
    taught, recipe = teach(rows, 4, np.random.default_rng(0))
    assert (taught.x[:200] == rows.x).all()
    assert len(taught.x) == 200 + taught.n_imagined
    assert taught.n_imagined > 200
    assert taught.y[200:].min() >= rows.y.min()
    assert taught.y[200:].max() <= rows.y.max()
    assert recipe[0] >= 1


def test_the_bag_is_closer_to_the_truth_than_the_rows_are():
    rows, truth = noisy_rows(400, 0)
    taught, _ = teach(rows, 10, np.random.default_rng(0))
    far = ((rows.y - truth) ** 2).mean()
    assert ((taught.y[:400] - truth) ** 2).mean() < 0.5 * far


def test_the_same_seed_gives_the_same_lesson():
    rows = wavy_rows(150, 0)
    first, second = (teach(rows, 3, np.random.default_rng(0))[0] for _ in "ab")
    assert (first.x == second.x).all()
    assert (first.y == second.y).all()


def test_a_lesson_can_be_ended():
    asked = []

    def stop():
        asked.append(1)
        return len(asked) > 2

    assert teach(wavy_rows(150, 0), 5, np.random.default_rng(0), stop=stop) is None
    assert len(asked) == 3


@pytest.mark.parametrize("n_rows", [1, 2, 5, 200])
def test_imagined_rows_take_every_number_from_a_row(n_rows):
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=(n_rows, 3)), np.full(n_rows, 7.0)])
    found = imagined(x, 300, rng)
    assert found.shape == (300, 4)
    for column in range(4):
        assert np.isin(found[:, column], x[:, column]).all()


def test_imagined_rows_do_not_earn_a_leaf_its_formula():
    rng = np.random.default_rng(0)
    x = rng.random((60, 3))
    y = x @ [1.0, 2.0, 3.0]
    leaf = np.zeros(60, dtype=int)
    by_formula = level_formulas(leaf, x, y, 1, n_imagined=55)[-1]
    by_constant = level_formulas(leaf, x, y, 1, n_imagined=57)[-1]
    assert by_formula.weights.any()
    assert not by_constant.weights.any()


def test_seen_as_other_numbers_the_imagined_rows_stay():
    taught, _ = teach(wavy_rows(100, 0), 2, np.random.default_rng(0))
    seen = taught.seen_as(np.zeros((100, 4)))
    assert not seen.x[:100].any()
    assert (seen.x[100:] == taught.x[100:]).all()
    assert seen.n_imagined == taught.n_imagined
    assert (seen.y == taught.y).all()


@pytest.mark.parametrize("seed", range(2))
def test_with_polish_the_training_rows_are_told_no_worse(seed):
    rows, valid = wavy_rows(300, seed), wavy_rows(100, seed + 10)
    settings = {
        "leaves": "linear",
        "depth": 4,
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


def test_a_taught_tree_answers_for_categories_and_missing_values():
    X, y = mixed_table(300)
    model = GetRegressor(
        leaves="linear", depth=3, n_starts=3, max_epochs=6, random_state=0
    ).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.6
    tree = model.tree_
    assert np.allclose(tree.predict(X), model.predict(X))
    assert (tree.n_rows > 0).all()
    assert tree.n_rows[0] == 200
    assert any("learned from what a bag" in note for note in tree.notes)


def test_a_quick_tree_is_taught_by_nobody_and_says_nothing_of_it():
    X, y = mixed_table(200)
    tree = GetRegressor(leaves="linear", budget="quick", random_state=0).fit(X, y).tree_
    assert not any("bag" in note for note in tree.notes)
