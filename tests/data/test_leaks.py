import numpy as np
import pandas as pd
import pytest

from treelab.data.builtin import BUILTIN
from treelab.data.leaks import leaks, scores_alone


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_a_column_that_settles_the_target_is_found_with_its_score(rng):
    y = pd.Series(rng.choice(["a", "b", "c"], 400))
    codes = y.map({"a": 3.0, "b": 1.0, "c": 2.0})
    columns = pd.DataFrame(
        {
            "copy": y.str.upper(),
            "code": codes + rng.uniform(-0.3, 0.3, 400),
            "missing": y.where(y != "a"),
            "hint": codes + rng.normal(0, 1, 400),
            "noise": rng.normal(size=400),
        }
    )
    assert dict(leaks(columns, y, "multiclass")) == {
        "copy": 1.0,
        "code": 1.0,
        "missing": 1.0,
    }


def test_a_rare_class_that_is_missed_is_no_leak(rng):
    y = pd.Series(np.where(rng.random(2000) < 0.005, "rare", "usual"))
    assert not list(leaks(pd.DataFrame({"x": rng.normal(size=2000)}), y, "binary"))


def test_a_number_that_follows_from_one_column_is_found(rng):
    x = rng.normal(size=1000)
    columns = pd.DataFrame({"x": x, "loose": x + rng.normal(0, 0.5, 1000)})
    (found,) = leaks(columns, pd.Series(np.exp(x / 4)), "regression")
    assert found[0] == "x"
    assert found[1] > 0.99


def test_a_number_that_tells_a_little_tells_as_much_as_a_category(rng):
    x, group = rng.random((2, 4000))
    late, nord = 1.0 * (x > 0.7), 1.0 * (group > 0.7)
    y = pd.Series(late + nord + rng.normal(0, 1.2, 4000))
    columns = pd.DataFrame({"x": x, "group": np.where(nord == 1, "north", "south")})
    found = dict(scores_alone(columns, y, "regression"))
    explained = 0.21 / (0.42 + 1.44)  # of the variance, by each of them
    assert found["x"] == pytest.approx(explained, abs=0.04)
    assert found["group"] == pytest.approx(explained, abs=0.04)


def test_of_few_rows_nothing_is_said():
    y = pd.Series(["a", "b"] * 10)
    assert not list(leaks(pd.DataFrame({"x": y}), y, "binary"))


@pytest.mark.parametrize("key", sorted({*BUILTIN} - {"digits"}))
def test_the_built_in_tables_have_none(key):
    table = BUILTIN[key]
    frame = table.load()
    columns = frame.drop(columns=table.target)
    assert not list(leaks(columns, frame[table.target], table.task))


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_a_category_of_many_values_that_settles_the_target_is_found(rng, task):
    code = rng.integers(100, size=2000)
    of_code = {"binary": code % 2, "multiclass": code % 5, "regression": code**2}[task]
    y = pd.Series(of_code)
    names = rng.permutation(100)
    columns = pd.DataFrame({"reason": [f"R{names[own]}" for own in code]})
    if task != "regression":
        y = y.map(str)
    assert dict(leaks(columns, y, task)).keys() == {"reason"}
    assert dict(scores_alone(columns, y, task))["reason"] > 0.98


def test_categories_that_differ_in_every_row_predict_nothing(rng):
    columns = pd.DataFrame({"id": [f"no {k}" for k in range(400)]})
    for y, task, guess in (
        (pd.Series(rng.choice(["a", "b", "c"], 400)), "multiclass", 1 / 3),
        (pd.Series(rng.normal(size=400)), "regression", 0.0),
    ):
        assert dict(scores_alone(columns, y, task))["id"] == pytest.approx(
            guess, abs=0.03
        )


def test_a_copy_of_skewed_amounts_is_found(rng):
    for n_rows in (200, 2000):
        net = pd.Series(rng.lognormal(7, 1.2, n_rows).round(2))
        columns = pd.DataFrame(
            {"gross": net * 1.19, "like": net * rng.lognormal(0, 0.3, n_rows)}
        )
        assert dict(leaks(columns, net, "regression")).keys() == {"gross"}
