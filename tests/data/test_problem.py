import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from treelab.data.builtin import BUILTIN
from treelab.data.problem import (
    Problem,
    make_problem,
    several_targets,
    weighted_problem,
)
from treelab.data.problem_check import check_problem
from treelab.data.reading.read_table import read_table
from treelab.data.split import SPLITS
from treelab.evaluation.comparison import have_same_test_rows
from treelab.learners.cart.estimators import CartClassifier
from treelab.trees.feature import forms_of_model


def table(n=100, **columns):
    """A table with a number, a category and a target of two classes."""
    rng = np.random.default_rng(0)
    frame = {
        "u": rng.normal(size=n),
        "code": rng.integers(0, 3, n),
        "y": rng.choice(["no", "yes"], n),
        **columns,
    }
    return pd.DataFrame(frame)


def problem(task="binary", columns=("u", "code"), **settings):
    """A problem on that table."""
    return Problem("id", "table", "y", columns, task=task, **settings)


def test_a_problem_survives_json():
    given = problem(kinds=(("code", "category"),), units={"u": "km"}, seed=3)
    given = replace(given, rare=(("code", 10), ("u", 0.01)))
    again = Problem.from_dict(json.loads(json.dumps(given.to_dict())))
    assert again == given
    assert again.units == (("u", "km"),)
    assert hash(again) == hash(given)


@pytest.mark.parametrize("least", [1, 0.6, -2, 0])
def test_what_is_rare_is_a_number_of_rows_or_a_fraction_of_them(least):
    with pytest.raises(ValueError, match="rare below"):
        problem(rare=(("code", least),))


def test_the_truth_of_a_surrogate_is_no_feature():
    assert problem(is_surrogate=True, truth="t").truth == "t"
    with pytest.raises(ValueError, match="take it out"):
        problem(is_surrogate=True, truth="u")
    with pytest.raises(ValueError, match="surrogate"):
        problem(truth="t")


@pytest.mark.parametrize("key", BUILTIN)
def test_every_row_of_a_table_is_in_one_split(key):
    builtin = BUILTIN[key]
    frame = builtin.load()
    split = make_problem(frame, builtin.target, units=builtin.units).split(frame)
    parts = [split.rows(name)[:2] for name in ("train", "valid", "test")]
    index = np.concatenate([X.index for X, _ in parts])
    assert sorted(index) == list(range(len(frame)))
    for X, y in parts:
        assert (X.index == y.index).all()
        assert (y.astype(str) == frame.loc[y.index, builtin.target].astype(str)).all()
        assert X.attrs["units"] == dict(builtin.units)
    assert len(parts[0][0]) / len(frame) == pytest.approx(0.6, abs=0.02)
    assert split.notes == ()


def test_the_split_follows_the_seed():
    frame = table()
    first, again, other = (problem(seed=s).split(frame) for s in (0, 0, 1))
    assert (first.X_test.index == again.X_test.index).all()
    assert list(first.X_test.index) != list(other.X_test.index)


def test_rows_without_a_target_are_left_out_with_a_note():
    frame = table()
    frame.loc[[3, 5], "y"] = None
    split = problem().split(frame)
    assert len(split.X_train) + len(split.X_valid) + len(split.X_test) == 98
    assert "2 rows without a value of the target 'y' are left out." in split.notes


def test_numbers_of_a_frame_that_became_categories_are_numbers_in_a_later_file():
    frame = table(code=np.tile([7.0, 8.0, 9.5, np.nan], 25), y=np.tile([0, 1], 50))
    asked = problem(columns=("code",), kinds=(("code", "category"),))
    X = asked.table(frame)
    assert set(X["code"].dropna()) == {"7", "8", "9.5"}
    model = CartClassifier().fit(X, frame["y"])
    later = frame.drop(columns="y").to_csv(index=False).encode()
    read = read_table(later, as_in=forms_of_model(model.tree_)).frame
    np.testing.assert_array_equal(model.predict(read[["code"]]), model.predict(X))
    assert model.score(X, frame["y"]) == 1


def test_chosen_kinds_are_applied():
    frame = table(age=["31", "x"] * 50)
    chosen = problem(
        columns=("code", "age"), kinds=(("code", "category"), ("age", "number"))
    )
    X = chosen.split(frame).X_train
    assert set(X["code"]) == {"0", "1", "2"}
    assert X["age"].dtype == np.float64


def test_classes_stored_as_decimals_are_whole_numbers():
    y = np.where(np.arange(100) < 3, np.nan, np.arange(100) % 3)
    split = problem("multiclass").split(table(y=y))
    assert split.y_train.dtype == np.int64


def test_a_class_of_one_row_is_trained_on_with_a_note():
    split = problem().split(table(y=["rare"] + ["a", "b"] * 49 + ["a"]))
    assert "rare" in set(split.y_train)
    assert any("'rare' has one row only" in note for note in split.notes)


@pytest.mark.parametrize("n_rare", [1, 2])
@pytest.mark.parametrize("place", ["first", "last"])
def test_a_rare_class_is_said_to_train_only_where_its_rows_do(n_rare, place):
    rare, rest = ["rare"] * n_rare, ["a", "b"] * 49
    y = [*rare, *rest] if place == "first" else [*rest, *rare]
    frame = table(len(y), y=y).assign(day=range(len(y)))
    own = problem("multiclass", split_by="time", split_column="day")
    split = own.split(frame)
    says = any("trained on" in note for note in split.notes)
    assert says == (place == "first") == ("rare" in set(split.y_train))
    found = check_problem(frame, own)
    assert any("trained on" in one.sentence for one in found) == says


def test_three_rows_are_split():
    split = problem("regression").split(table(3, y=[1.0, 2.0, 3.0]))
    assert [len(split.rows(name)[0]) for name in ("train", "valid", "test")] == [1] * 3
    assert any("Only 1 test row" in note for note in split.notes)
    with pytest.raises(ValueError, match="at least 3 rows"):
        problem("regression").split(table(2, y=[1.0, 2.0]))


def test_regression_on_text_is_refused():
    with pytest.raises(ValueError, match="'y' holds text"):
        problem("regression").split(table())


def test_an_absent_column_is_named():
    with pytest.raises(ValueError, match="no column 'w'"):
        problem(columns=("u", "w")).split(table())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"task": "survival"}, "task must be one of.*'survival'"),
        ({"columns": ()}, "at least one column"),
        ({"columns": ("u", "y")}, "'y' cannot be predicted from itself"),
        ({"valid_share": 0.5, "test_share": 0.5}, "together below 1; got 0.5 and 0.5"),
        ({"test_share": 0.0}, "above 0"),
    ],
)
def test_problems_that_make_no_sense_are_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        problem(**settings)


def test_an_unknown_split_is_refused():
    with pytest.raises(ValueError, match="train, valid, test; got 'dev'"):
        problem().split(table()).rows("dev")


def test_defaults_leave_useless_columns_out():
    made = make_problem(table(same=1, name=[f"p{i}" for i in range(100)]), "y", seed=4)
    assert made.columns == ("u", "code")
    assert made.task == "binary"
    assert made.seed == 4
    with pytest.raises(ValueError, match="no column 'z'"):
        make_problem(table(), "z")


def test_a_weight_column_weighs_rows_and_leaves_out_those_of_zero():
    frame = table(w=np.arange(100) % 4 / 2)
    given = weighted_problem(problem(columns=("u", "code", "w")), "w")
    assert given.columns == ("u", "code")
    assert Problem.from_dict(json.loads(json.dumps(given.to_dict()))) == given
    split = given.split(frame)
    assert sum(split.n_rows(name) for name in ("train", "valid", "test")) == 75
    assert "25 rows of weight 0 are left out." in split.notes
    for name in ("train", "valid", "test", "train+valid"):
        X, _, _ = split.rows(name)
        assert (split.rows(name).weight == frame["w"][X.index]).all()
    assert problem().split(frame).rows("train").weight is None


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.where(np.arange(100) == 7, np.nan, 1), "is nan in row 8"),
        (np.where(np.arange(100) == 7, -2, 1), "is -2 in row 8"),
        (["heavy"] * 100, "must be a column of numbers"),
        (np.zeros(100), "is 0 in each row with a target"),
    ],
)
def test_weights_that_are_none_are_refused(weights, words):
    given = replace(problem(), weight="w")
    with pytest.raises(ValueError, match=words):
        given.split(table(w=weights))


@pytest.mark.parametrize("weight", ["y", "u"])
def test_a_weight_is_no_target_and_no_column(weight):
    with pytest.raises(ValueError, match="says how much rows count"):
        problem(weight=weight)


def test_an_exposure_divides_the_target_and_weighs_the_rows():
    frame = pd.DataFrame(
        {
            "claims": [0.0, 1, 2, np.nan] * 10,
            "years": [0.5, 2.0, 1.0, np.nan] * 10,
            "times": [1.0, 2.0, 0.0, 1.0] * 10,
            "age": np.arange(40.0),
        }
    )
    columns = ["age", "years", "times"]
    given = make_problem(frame, "claims", columns=columns, task="regression")
    given = weighted_problem(given, "times", "years")
    assert given.columns == ("age",)
    assert given.target_name == "claims per years"
    assert given.weighted_words == ", weighted by years and times"
    assert Problem.from_dict(json.loads(json.dumps(given.to_dict()))) == given
    assert all(each.level != "error" for each in check_problem(frame, given))
    split = given.split(frame)
    for name in ("train", "valid", "test", "train+valid"):
        X, y, weight = split.rows(name)
        rows = frame.loc[X.index]
        assert (rows["times"] > 0).all()
        assert (y == rows["claims"] / rows["years"]).all()
        assert (weight == rows["years"] * rows["times"]).all()
    assert not have_same_test_rows(given, replace(given, exposure=""))
    assert not have_same_test_rows(given, replace(given, weight=""))


@pytest.mark.parametrize("years", [0.0, -1.0, np.nan, np.inf])
def test_an_exposure_that_is_none_is_refused_with_its_row(years):
    frame = pd.DataFrame({"claims": np.arange(20.0), "u": np.arange(20.0)})
    frame = frame.assign(years=np.where(np.arange(20) == 6, years, 1.0))
    given = Problem("", "", "claims", ("u",), task="regression", exposure="years")
    words = f"must be finite and above 0, but is {years:g} in row 7"
    with pytest.raises(ValueError, match=words):
        given.split(frame)
    assert any(words in finding.sentence for finding in check_problem(frame, given))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"exposure": "y"}, "cannot be predicted"),
        ({"exposure": "w"}, "classes and predictions"),
        ({"exposure": "w", "task": "regression", "weight": "w"}, "count by the expo"),
        ({"exposure": "w", "task": "regression", "is_surrogate": True}, "imitated"),
        ({"weight": "w", "origin": "table"}, "no weight"),
    ],
)
def test_an_exposure_is_of_amounts_that_are_predicted(change, words):
    with pytest.raises(ValueError, match=words):
        problem(**change)


def test_several_targets_are_of_the_rows_that_have_them_all():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=["x", "one", "two"])
    frame.loc[3, "one"] = frame.loc[5, "two"] = np.nan
    problem = several_targets(make_problem(frame, "one"), ["two"])
    assert problem.targets == ("one", "two")
    assert problem.columns == ("x",)
    assert problem.target_name == "one, two"
    labels = problem.labels(frame)
    assert labels.equals(frame[["one", "two"]].dropna())
    split = problem.split(frame)
    assert sum(split.n_rows(name) for name in SPLITS) == 38
    assert "2 rows without a value" in split.notes[0]
    one = split.of_target("two")
    assert one.y_test.equals(frame["two"].loc[split.X_test.index])
    assert Problem.from_dict(json.loads(json.dumps(problem.to_dict()))) == problem


def test_targets_that_do_not_go_together_are_refused():
    frame = pd.DataFrame(np.eye(5), columns=[*"xyzuv"])
    problem = make_problem(frame, "x", task="regression")
    with pytest.raises(ValueError, match="stands twice"):
        replace(problem, more_targets=("y",))
    with pytest.raises(ValueError, match="Several targets are numbers"):
        replace(problem, task="binary", columns=("z",), more_targets=("y",))
    with pytest.raises(ValueError, match="Several targets are numbers"):
        replace(several_targets(problem, ["y"]), columns=("z",), exposure="u")
