"""Trees of several targets, and of several quantiles, on every page."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import r2_score

from pages.cached.comparison import band_of
from pages.cached.predictions import GivenTable
from pages.cached.routing import routed_file
from pages.cached.runs import load_run, load_whole
from tests.pages.shown import figures
from tests.pages.stores import table
from treelab.data.problem import make_problem, several_targets
from treelab.evaluation.frontier import TEST
from treelab.evaluation.predictions import (
    new_scores,
    new_table,
    parts_of,
    prediction_columns,
)
from treelab.reports.run_report import read_facts
from treelab.runs.jobs.repeats import create_repeats
from treelab.runs.jobs.run_one import run_one
from treelab.trees.words import percent

LEVELS = (0.1, 0.5, 0.9)


def frame():
    """The usual table with a second number to predict, in a unit of its own."""
    found = table(120)
    noise = np.random.default_rng(1).normal(0, 0.001, len(found))
    found["width"] = 0.01 * (found["colour"] == "blue") + noise
    return found


def train(store, *more: str, **settings) -> str:
    """Train a CART on the targets "weight" and others."""
    own = frame()
    problem = make_problem(own, "weight", table_name="fruit", task="regression")
    problem = several_targets(problem, more)
    problem = replace(problem, table_id=store.add_table(own, "fruit"))
    run_id = store.create(
        "cart", {"tune": False, "max_leaf_nodes": 6} | settings, problem
    )
    assert run_one(run_id, store.home) == "done", store.run(run_id).error
    return run_id


def train_quantiles(store) -> str:
    return train(store, loss="quantile", quantile=LEVELS)


def train_two(store) -> str:
    return train(store, "width")


MAKERS = [train_two, train_quantiles]


def words(app) -> str:
    parts = (*app.markdown, *app.caption, *app.header, *app.info, *app.subheader)
    return " ".join(part.value for part in parts)


@pytest.mark.parametrize("tab", ["Rules", "Routes", "Alternatives", "Scores", "Export"])
def test_tree_shows_one_output_at_a_time(visit, store, tab):
    app = visit("tree", run=train(store, "width"), tab=tab)
    (choice,) = (app.segmented_control(key="output").options,)
    assert list(choice) == ["weight", "width"]
    app.segmented_control(key="output").set_value("width").run()
    assert not app.exception
    assert "width R²" in words(app)
    assert "Choose at least one" not in words(app)
    assert "mean R² of 2 targets" in words(app)  # in the bar


@pytest.mark.slow
@pytest.mark.parametrize("tab", ["Why", "What if", "Overall", "New rows"])
@pytest.mark.parametrize("make", MAKERS)
def test_explain_speaks_of_each_output(visit, store, make, tab):
    app = visit("explain", run=make(store), tab=tab)
    assert "quantile 0.9" in words(app) or "width" in words(app)
    last = app.segmented_control(key="output").options[-1]
    app.segmented_control(key="output").set_value(last).run()
    assert not app.exception


@pytest.mark.parametrize("make", MAKERS)
def test_what_is_not_made_of_several_outputs_is_not_offered(visit, store, make):
    run = make(store)
    app = visit("tree", run=run, tab="Export")
    labels = [button.label for button in app.get("download_button")]
    assert "Download" in labels
    assert not {"Report", "Model card"} & set(labels)
    assert "A report or model card is of a model that predicts one" in words(app)
    assert "it predicts several numbers" in words(
        visit("tree", run=run, tab="Alternatives")
    )


def test_data_marks_every_target(visit, store):
    app = visit("data", run=train_two(store))
    drawn = "".join(html.proto.body for html in app.get("html"))
    assert drawn.count('<th class="target') == 2


def test_rows_of_a_file_are_routed_by_the_target_that_is_looked_at(visit, store):
    run = train_two(store)
    visit("tree", run=run)
    loaded = load_run(store.run(run))
    given = GivenTable(frame(), frame(), "new.csv", "new")
    borders = np.quantile(loaded.split.y_train, [1 / 3, 2 / 3])
    routed = routed_file(loaded, None, given)
    low = int((frame()["weight"] <= borders[0]).sum())
    assert int(routed.table(routed.names[0])["rows"].iloc[0]) == low


def test_what_if_asks_for_the_target_that_is_looked_at(visit, store):
    run = train_two(store)
    app = visit("explain", run=run, tab="What if")
    for name in ("weight", "width"):
        app.segmented_control(key="output").set_value(name).run()
        (bound,) = (own for own in app.number_input if "bound" in str(own.key))
        assert bound.label == name
        assert (bound.value > 1) == (name == "weight")  # in its own unit


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("page", ["train", "runs", "data"])
def test_other_pages_open(visit, store, make, page):
    visit(page, run=make(store))


@pytest.mark.slow
@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("tab", ["Why", "Splits", "Errors", "Repeats"])
def test_compare_shows_one_output_at_a_time(visit, store, make, tab):
    first, second = make(store), make(store)
    app = visit("compare", run=second, against=first, tab=tab)
    last = app.segmented_control(key="output").options[-1]
    app.segmented_control(key="output").set_value(last).run()
    assert not app.exception


def test_a_size_of_one_output_is_not_saved_as_a_run_of_several(visit, store):
    run, other = train_two(store), train(store, "width", min_samples_leaf=15)
    app = visit("compare", run=run, against=other)
    app.session_state["frontier-pick"] = True
    app.run()
    (size,) = (own for own in app.select_slider if "-size-" in own.key)
    size.set_value(0).run()
    next(own for own in app.button if own.label == "Use this tree").click().run()
    assert not app.exception
    assert "On Tree" in app.error[0].value
    assert len(store.runs()) == 2


def test_over_data_splits_it_is_the_output_that_is_looked_at(visit, store):
    runs = [train_two(store), train(store, "width", min_samples_leaf=15)]
    for run in create_repeats(store, [*map(store.run, runs)], 1):
        assert run_one(run, store.home) == "done"
    app = visit("compare", run=runs[0], against=runs[1], tab="Repeats")
    app.segmented_control(key="output").set_value("width").run()
    assert not app.exception
    first, second = (line["x"] for line in figures(app)[-1]["data"] if "name" in line)
    r2 = [own.metrics["test"]["outputs"]["width"]["r2"] for own in store.runs()]
    assert sorted([*first, *second]) == pytest.approx(sorted(r2))
    band, _ = band_of(store.run(runs[0]), TEST, "width")
    own = [own for own in store.runs() if runs[0] in (own.id, own.repeat_of)]
    mean = np.mean([run.metrics["test"]["outputs"]["width"]["r2"] for run in own])
    assert band["mean"].iloc[-1] == pytest.approx(mean)


def test_runs_of_other_quantiles_are_each_compared_by_their_own(visit, store):
    levels = ((0.1, 0.9), (0.2, 0.8))
    runs = [train(store, loss="quantile", quantile=own) for own in levels]
    for run in create_repeats(store, [*map(store.run, runs)], 1):
        assert run_one(run, store.home) == "done"
    app = visit("compare", run=runs[0], against=runs[1], tab="Repeats")
    app.segmented_control(key="output").set_value("quantile 0.9").run()
    assert not app.exception
    assert "quantile 0.2 of CART 2 and quantile 0.9 of CART alone" in words(app)
    shown = [line["x"] for line in figures(app)[-1]["data"] if "name" in line]
    for run, name, found in zip(runs[::-1], ("quantile 0.2", "quantile 0.9"), shown):
        own = [each for each in store.runs() if run in (each.id, each.repeat_of)]
        r2 = [each.metrics["test"]["outputs"][name]["r2"] for each in own]
        assert sorted(found) == pytest.approx(sorted(r2))


def test_explain_writes_the_interval_of_the_outermost_quantiles(visit, store):
    run_id = train_quantiles(store)
    app = visit("explain", run=run_id)
    test = store.run(run_id).metrics["test"]
    inside = f"{percent(test['coverage'])} of {test['n_rows']} test rows"
    assert "80% between" in words(app)
    assert f"holds for {inside}" in words(app)


@pytest.mark.parametrize("make", MAKERS)
def test_the_file_of_predictions_has_a_column_for_each_output(store, make):
    run = store.run(make(store))
    loaded = load_whole(run)
    X = loaded.split.X_test
    columns = prediction_columns(loaded.model, X, parts_of(loaded.model))
    wanted = ["prediction of weight", "prediction of width"]
    if loaded.model.levels:
        wanted = ["quantile 0.1", "quantile 0.5", "quantile 0.9"]
    assert columns.columns.tolist() == [*wanted, "leaf", "rule"]
    np.testing.assert_array_equal(columns[wanted], loaded.model.predict(X))


@pytest.mark.parametrize("make", MAKERS)
def test_scores_of_each_output_and_their_mean_are_stored(store, make):
    run = store.run(make(store))
    found, key = run.metrics["test"], run.headline
    each = [own[key] for own in found["outputs"].values()]
    assert found[key] == pytest.approx(np.mean(each))
    assert ("rmse" in found) == (key == "d2")  # targets have no common unit


def test_a_new_table_is_scored_for_every_target_that_it_has(store):
    loaded = load_whole(store.run(train(store, "width")))
    new = frame().iloc[:40]
    model, problem = loaded.model, loaded.run.problem
    X = new_table(model, new, "new").X
    scores, note = new_scores(model, new, X, problem)
    assert scores["n_rows"] == 40
    assert "R² of each: weight" in note
    one, note = new_scores(model, new.drop(columns="width"), X, problem)
    assert "width" not in note
    assert one["r2"] == pytest.approx(r2_score(new["weight"], model.predict(X)[:, 0]))


def test_more_targets_are_chosen_on_train(visit, store):
    app = visit("train", run=train(store))
    key = next(own.key for own in app.multiselect if "more-targets" in str(own.key))
    app.multiselect(key=key).set_value(["width"]).run()
    assert not app.exception
    problem = app.session_state["problem"]
    assert problem.targets == ("weight", "width")
    assert "width" not in problem.columns
    app.multiselect(key=key).set_value([]).run()
    problem = app.session_state["problem"]
    assert problem.targets == ("weight",)
    assert "width" in problem.columns


@pytest.mark.parametrize("choice", ["task", "model"])
def test_classes_and_predictions_have_one_target(visit, store, choice):
    app = visit("data", run=train(store, "width"))
    assert app.session_state["problem"].more_targets == ("width",)
    if choice == "task":
        box = next(own for own in app.selectbox if own.label == "Task")
        box.set_value("multiclass").run()
    else:
        box = next(own for own in app.checkbox if "imitate" in own.label)
        box.set_value(True).run()
    problem = app.session_state["problem"]
    assert not app.exception
    assert problem.more_targets == ()
    assert "width" in problem.columns
    assert (problem.task, problem.is_surrogate) != ("regression", False)


def test_what_is_of_one_prediction_says_so(visit, store):
    run_id = train(store, "width")
    app = visit("tree", run=run_id)
    app.toggle(key="edit").set_value(True).run()
    assert "is not edited by hand" in words(app)
    with pytest.raises(ValueError, match="Reports and comparisons are of one"):
        read_facts(store, [store.run(run_id)])
