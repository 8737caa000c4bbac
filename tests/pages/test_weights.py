"""Weights and exposure: chosen on Train, kept with the run, said beside every score."""

from dataclasses import replace

import numpy as np
import pytest

from pages.cached.comparison import curves_of
from pages.cached.predictions import score_differences, split_scores
from pages.cached.runs import load_run
from tests.pages.shown import page_text
from tests.pages.stores import add_run
from treelab.evaluation import metrics
from treelab.evaluation.comparison import class_curves
from treelab.trees.losses import Loss

YEARS = {"years": 0.5 + np.arange(240) % 3}
COMPARE_TABS = ("Errors", "Groups", "Cost", "Why", "Repeats")


def field(app, name):
    """The choice of a column on Train."""
    (box,) = [box for box in app.selectbox if str(box.key).startswith(f"{name}-")]
    return box


def test_the_columns_that_are_chosen_go_into_the_run_and_are_remembered(visit, store):
    app = visit("train", run=add_run(store, "cart", "weight", more=YEARS))
    problem = app.session_state["problem"]
    assert "radius" in problem.columns
    assert field(app, "weight").value == ""
    field(app, "weight").set_value("radius").run()
    field(app, "exposure").set_value("years").run()
    assert not app.exception
    problem = app.session_state["problem"]
    assert (problem.weight, problem.exposure) == ("radius", "years")
    assert problem.columns == ("texture $x$", "colour")
    app.switch_page("pages/data.py").run()
    assert not app.exception
    app.switch_page("pages/train.py").run()
    assert field(app, "exposure").value == "years"
    assert "years" not in field(app, "weight").options
    field(app, "weight").set_value("").run()
    problem = app.session_state["problem"]
    assert (problem.weight, problem.exposure) == ("", "years")
    assert problem.columns == ("radius", "texture $x$", "colour")
    app.button(key="train").click().run()
    assert not app.exception
    started = store.runs()[0].problem
    assert (started.weight, started.exposure) == ("", "years")


def test_a_weight_that_is_missing_stops_training_and_says_where(visit, store):
    app = visit("train", run=add_run(store, "cart"))
    field(app, "weight").set_value("texture $x$").run()
    (error,) = [error.value for error in app.error]
    assert "must be finite and at least 0, but is nan in row 1" in error
    assert app.button(key="train").disabled
    assert not [box for box in app.selectbox if str(box.key).startswith("exposure-")]


def test_the_last_column_to_predict_from_is_no_weight(visit, store):
    app = visit("train", run=add_run(store, "cart"))
    one = replace(app.session_state["problem"], columns=["radius"])
    app.session_state["problem"] = one
    app.run()
    field(app, "weight").set_value("radius").run()
    assert "at least one column to predict from" in app.error[0].value
    assert field(app, "weight").value == "" == app.session_state["problem"].weight


def test_another_task_or_a_surrogate_has_no_exposure(visit, store):
    run = add_run(store, "cart", "weight", exposure="years", more=YEARS)
    app = visit("data", run=run)
    (box,) = [box for box in app.selectbox if str(box.key).startswith("task-")]
    box.set_value("multiclass").run()
    assert app.session_state["problem"].exposure == ""


@pytest.mark.slow
@pytest.mark.parametrize("page", ["tree", "compare", "explain", "train", "runs"])
@pytest.mark.parametrize("target", ["kind", "weight"])
def test_every_page_of_a_weighted_run_opens_and_says_so(visit, store, page, target):
    given = {"weight": "weight"}
    if target == "weight":
        given = {"exposure": "years", "more": YEARS}
    runs = [add_run(store, learner, target, **given) for learner in ("cart", "grande")]
    app = visit(page, run=runs[-1])
    text = page_text(app)
    assert f"weighted by {'weight' if target == 'kind' else 'years'}" in text
    (bar,) = [box for box in app.selectbox if str(box.key).startswith("bar-target")]
    assert ("weight per years" in bar.options) == (target == "weight")


@pytest.mark.slow
@pytest.mark.parametrize("tab", ["Rules", "Routes", "Alternatives", "Scores", "Export"])
def test_the_tabs_of_tree_open_for_weighted_rows(visit, store, tab):
    run = add_run(store, "cart", weight="weight", sizes=True)
    text = page_text(visit("tree", run=run, tab=tab))
    years = add_run(store, "cart", "weight", exposure="years", more=YEARS)
    rate = page_text(visit("tree", run=years, tab=tab))
    if tab == "Scores":
        assert "weight predicted, " in rate
    if tab == "Alternatives":
        assert "weighted by weight. These rows shaped the splits" in text
        assert "weighted by years. These rows shaped the splits" in rate
    if tab == "Rules":
        assert "<th>weight</th>" in text


@pytest.mark.slow
@pytest.mark.parametrize("tab", COMPARE_TABS)
def test_the_tabs_of_compare_open_for_weighted_rows(visit, store, tab):
    runs = [add_run(store, own, weight="weight") for own in ("cart", "grande")]
    visit("compare", run=runs[0], tab=tab)


def test_what_compare_measures_is_weighted(store, visit):
    runs = [add_run(store, own, weight="weight") for own in ("cart", "grande")]
    visit("compare", run=runs[0])
    first, second = (load_run(store.run(run)) for run in runs)
    X, y, weight = first.rows("test")
    own, other = (
        metrics.scores("multiclass", y, one.model.predict(X), sample_weight=weight)
        for one in (first, second)
    )
    found = score_differences(first, second)["macro_f1"]
    assert (found.first, found.second) == pytest.approx(
        (own["macro_f1"], other["macro_f1"])
    )
    stored = load_run(replace(first.run, metrics={}))
    assert split_scores(stored, "test")["accuracy"] == pytest.approx(own["accuracy"])
    label = first.model.classes[0]
    chance = np.clip(second.model.predict_proba(X), 0, 1)[:, 0]
    curves = class_curves((y == label).to_numpy(), chance, weight)
    assert curves_of(second, label).roc_area == curves.roc_area


def test_a_sweep_takes_the_weight_that_was_chosen_on_train(visit, store):
    run = add_run(store, "cart", weight="weight")
    app = visit("train", run=run, tab="Tune")
    assert "Rows are weighted by weight." in page_text(app)


def test_routes_count_rows_and_say_so(visit, store):
    run = add_run(store, "cart", "weight", weight="years", more=YEARS)
    app = visit("tree", run=run, tab="Routes")
    (rows,) = [group for group in app.button_group if group.key == "routing-rows"]
    assert "test, 48 rows" in rows.options


def test_a_tree_of_weighted_rows_is_edited_and_saved_with_their_weights(visit, store):
    run = add_run(store, "cart", "weight", weight="years", more=YEARS)
    app = visit("tree", run=run, edit="true", node="r0")
    for name in ("prune-below", "keep"):
        app.button(key=f"edit-{name}-{run}").click().run()
        assert not app.exception, app.exception
    saved = store.runs()[0]
    assert saved.id != run
    assert saved.problem.weight == "years"
    first, tree = store.model(run), store.model(saved.id)
    assert tree.n_leaves < first.n_leaves
    assert tree.weight[0] == pytest.approx(first.weight[0])


def test_a_tree_of_rates_is_edited_by_its_own_score(visit, store):
    loss = {"loss": Loss("poisson"), "settings": {"loss": "poisson"}}
    run = add_run(store, "cart", "weight", exposure="years", more=YEARS, **loss)
    app = visit("tree", run=run, edit="true")
    (title, *_) = [metric.label for metric in app.metric]
    assert title == "D² · validation, 48 rows, weighted by years"
    split, tree = load_run(store.run(run)).split, store.model(run)
    (X, y, years), train = split.rows("valid"), split.rows("train")
    leaf = tree.apply(train.X)
    sums = np.bincount(leaf, train.weight * train.y), np.bincount(leaf, train.weight)
    rates = (sums[0] / np.maximum(sums[1], 1e-9))[tree.apply(X)]
    found = metrics.headline_score("regression", y, rates, years, Loss("poisson"))
    assert float(app.metric[0].value) == pytest.approx(found, rel=1e-2)


def test_what_rates_of_new_rows_amount_to_is_not_called_the_rate(visit, store):
    run = add_run(store, "cart", "weight", exposure="years", more=YEARS)
    app = visit("explain", run=run, tab="New rows")
    app.button_group(key="predict-source").set_value("Pasted cells").run()
    rows = "radius,texture $x$,colour,years\n5,2,blue,2\n30,2,amber,\n"
    app = app.text_area(key="predict-pasted").set_value(rows).run()
    rates, amounts = (own.value.replace("\\", "") for own in app.header)
    assert rates.startswith("2 rows: weight per years ")
    assert amounts.startswith("1 row: predicted weight ")
