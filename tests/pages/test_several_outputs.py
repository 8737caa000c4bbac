"""Trees of several targets, and of several quantiles, on every page."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.pages.shown import figures
from tests.pages.stores import table
from treelab.data.problem import make_problem, several_targets
from treelab.runs.jobs.run_one import run_one

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
    run_id = store.create("cart", settings, problem)
    assert run_one(run_id, store.home) == "done", store.run(run_id).error
    return run_id


def train_quantiles(store) -> str:
    return train(store, loss="quantile", quantile=LEVELS)


def words(app) -> str:
    parts = (*app.markdown, *app.caption, *app.header, *app.info, *app.subheader)
    return " ".join(part.value for part in parts)


def payloads(app) -> list[dict]:
    """What the tree viewers on a page draw."""
    found = []
    for each in app.get("bidi_component"):
        data = json.loads(each.proto.json) if each.proto.json else {}
        found.append(data)
    return found


@pytest.mark.parametrize("tab", ["Rules", "Routes", "Alternatives", "Scores", "Export"])
def test_tree_shows_one_output_at_a_time(visit, store, tab):
    app = visit("tree", run=train(store, "width"), tab=tab)
    (choice,) = app.segmented_control(key="output").options, 
    assert list(choice) == ["weight", "width"]
    app.segmented_control(key="output").set_value("width").run()
    assert not app.exception
    assert "width R²" in words(app)


@pytest.mark.parametrize("tab", ["Why", "What if", "Overall", "New rows"])
@pytest.mark.parametrize("make", [lambda store: train(store, "width"), train_quantiles])
def test_explain_speaks_of_each_output(visit, store, make, tab):
    app = visit("explain", run=make(store), tab=tab)
    assert "All" in words(app)
    last = app.segmented_control(key="output").options[-1]
    app.segmented_control(key="output").set_value(last).run()
    assert not app.exception


@pytest.mark.parametrize("make", [lambda store: train(store, "width"), train_quantiles])
@pytest.mark.parametrize("page", ["train", "runs", "data"])
def test_other_pages_open(visit, store, make, page):
    visit(page, run=make(store))


@pytest.mark.parametrize("make", [lambda store: train(store, "width"), train_quantiles])
@pytest.mark.parametrize("tab", ["Why", "Splits", "Errors", "Repeats"])
def test_compare_shows_one_output_at_a_time(visit, store, make, tab):
    first, second = make(store), make(store)
    app = visit("compare", run=second, against=first, tab=tab)
    last = app.segmented_control(key="output").options[-1]
    app.segmented_control(key="output").set_value(last).run()
    assert not app.exception
