"""Predictions for new rows: what is odd about the table, what decides each row."""

import datetime as dt
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tests.pages.stores import ensemble, single_tree, table
from treelab.data.problem import make_problem
from treelab.evaluation.predictions import (
    PARTS,
    empty_branch_note,
    new_scores,
    new_table,
    parts_of,
    predicted_words,
    prediction_columns,
    reading_notes,
    with_predictions,
)
from treelab.learners.cart.estimators import CartRegressor
from treelab.trees.cells import HOURS, CellForm
from treelab.trees.feature import Feature
from treelab.trees.tree import Tree

FRAME = table()
SPLIT = make_problem(FRAME, "kind", columns=("radius", "texture $x$", "colour")).split(
    FRAME
)
CLASSES = ("fine", "rough", "small")
TREE = single_tree(CLASSES, "kind", SPLIT)


def test_leaf_and_rule_are_those_of_the_tree():
    X = new_table(TREE, FRAME, "new.csv").X
    found = prediction_columns(TREE, X, PARTS)
    assert list(found)[-2:] == ["leaf", "rule"]
    assert found["leaf"].tolist() == TREE.apply(X).tolist()
    small = found[FRAME["radius"] <= 10]
    assert small["rule"].str.startswith("radius ≤ 10").all()
    assert parts_of(TREE) == ["table", "prediction", "probabilities", "leaf", "rule"]


def test_of_an_ensemble_the_heaviest_tree_decides():
    model = ensemble(CLASSES, "kind", SPLIT)
    X = new_table(model, FRAME, "new.csv").X
    found = prediction_columns(model, X, PARTS)
    index, weight = model.top_estimators(X)
    assert found["tree"].tolist() == index[:, 0].tolist()
    assert found["weight"].tolist() == weight[:, 0].tolist()
    own = model.estimator(int(index[5, 0]))
    assert found["leaf"][5] == own.apply(X.iloc[[5]])[0]


def test_an_absent_column_is_refused_or_counts_as_missing():
    frame = FRAME.drop(columns=["colour", "radius"])
    with pytest.raises(ValueError, match="'radius' and 'colour' are absent"):
        new_table(TREE, frame, "new.csv")
    read = new_table(TREE, frame, "new.csv", fill_absent=True)
    assert "count as missing in every row" in read.notes[0]
    empty = FRAME.assign(radius=np.nan, colour=None)
    expected = TREE.predict(new_table(TREE, empty, "x").X)
    assert TREE.predict(read.X).tolist() == expected.tolist()


def test_unknown_categories_are_named_with_their_rows():
    frame = FRAME.assign(colour=["green"] * 3 + FRAME["colour"].tolist()[3:])
    (note,) = new_table(TREE, frame, "new.csv").notes
    assert "'colour' holds 'green' in 3 rows" in note
    assert "counts it as an unknown category" in note
    own = replace(TREE.features[2], unseen=float("nan"))
    tree = replace(TREE, features=(*TREE.features[:2], own))
    assert "it as missing" in new_table(tree, frame, "new.csv").notes[0]


def test_a_table_with_the_target_is_scored():
    X = new_table(TREE, FRAME, "new.csv").X
    found, note = new_scores(TREE, FRAME, X)
    assert found["accuracy"] == np.mean(TREE.predict(X) == FRAME["kind"])
    assert note == ""
    odd = FRAME.assign(kind=[None, "other", *FRAME["kind"][2:]])
    found, note = new_scores(TREE, odd, X)
    assert found["n_rows"] == len(FRAME) - 1
    assert note == (
        "1 row without it. 1 row of a class that the model does not know, such as "
        "'other', counts as wrong."
    )
    assert new_scores(TREE, FRAME.drop(columns="kind"), X) == ({}, "")


def test_a_target_is_not_scored_on_those_of_its_cells_that_show_numbers():
    X = pd.DataFrame({"x": np.arange(12.0)})
    tree = CartRegressor(tune=False).fit(X, X["x"]).tree_
    new = X.assign(**{tree.target: ["9,5", "10", "?"] * 4})
    found, note = new_scores(tree, new, X)
    assert not found
    assert "holds '9,5', which is no number: nothing is scored" in note


def test_a_target_of_times_is_scored_as_hours_and_one_of_dates_only_as_dates():
    X = pd.DataFrame({"x": np.arange(24.0)})
    tree = CartRegressor(tune=False).fit(X, X["x"] + 0.5).tree_
    clock = X.assign(**{tree.target: [dt.time(hour, 30) for hour in range(24)]})
    with pytest.warns(UserWarning, match="times of day, which became hours"):
        found, note = new_scores(tree, clock, X)
    numbers, _ = new_scores(tree, X.assign(**{tree.target: X["x"] + 0.5}), X)
    assert found == numbers
    days = X.assign(**{tree.target: pd.Timestamp(2020, 1, 1)})
    found, note = new_scores(tree, days, X)
    assert not found
    assert "Nothing is scored. Column 'target' holds dates" in note
    mixed = clock.copy()
    mixed.loc[3, tree.target] = "noon"
    with pytest.warns(UserWarning, match="times of day"):
        _, note = new_scores(tree, mixed, X)
    assert "mixes kinds of values" in note


def test_a_target_that_the_loss_does_not_know_is_named_by_its_row_of_the_table():
    X = pd.DataFrame({"x": np.arange(12.0)})
    tree = CartRegressor(loss="poisson", tune=False).fit(X, X["x"]).tree_
    new = X.assign(**{tree.target: [np.nan, 1.0, -2.0] * 4})
    _, note = new_scores(tree, new, X)
    assert "holds -2 in row 3." in note


def test_rows_in_a_branch_that_no_training_row_took_are_counted():
    X = pd.DataFrame({"radius": [1.0, 30.0], "texture $x$": 3.0, "colour": "blue"})
    lonely = TREE.with_rows(X[1:], ["fine"])
    assert empty_branch_note(lonely, X).startswith("1 row takes a branch")
    assert empty_branch_note(TREE, X) == ""


def test_a_class_that_is_not_the_likeliest_is_said_to_be_predicted():
    X, parts = pd.DataFrame({"kg": [1.0, 2.0, 8.0]}), ("prediction", "probabilities")
    leaves = [[0.6, 0.4], [0.1, 0.9]]
    tree = Tree.complete(
        (Feature("kg"),), [0], [5.0], [True], leaves, classes=("a", "b")
    )
    assert reading_notes(tree, prediction_columns(tree, X, parts)) == []
    weighed = replace(tree, decision=np.array([1, 1, 1]))
    found = prediction_columns(weighed, X, parts)
    (note,) = reading_notes(weighed, found)
    assert note.startswith("In 2 rows the predicted class is not the likeliest, as")
    assert reading_notes(weighed, found[["prediction"]]) == []


def test_predicted_times_are_said_to_be_hours():
    form = CellForm(unit=HOURS, times="h:mm")
    X = pd.DataFrame({"kg": [1.0, 8.0]})
    names = {"target": "took", "target_unit": HOURS, "target_form": form}
    tree = Tree.complete((Feature("kg"),), [0], [5.0], [True], [0.75, 2.5], **names)
    found = prediction_columns(tree, X, ("prediction", "leaf"))
    assert reading_notes(tree, found) == ["Predictions are in hours: 0.75 is 0:45."]
    assert reading_notes(tree, found[["leaf"]]) == []


def test_a_class_of_two_lines_is_named_on_one():
    found = pd.Series(["a\n b", "c"], name="prediction")
    assert "“a b” for 50%, “c” for 50%" in predicted_words(TREE, found)


def test_a_name_that_the_table_has_already_is_refused():
    frame = FRAME.assign(prediction=1)
    found = prediction_columns(TREE, new_table(TREE, frame, "x").X, ["prediction"])
    with pytest.raises(ValueError, match=r"x has a column 'prediction' already"):
        with_predictions(frame, found, ["table"], "x")
    assert with_predictions(frame, found, [], "x") is found
