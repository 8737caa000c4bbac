"""Constraints as a form on Train, and as facts on Tree."""

from dataclasses import replace

import numpy as np
import pytest

from pages.cached.runs import kept_constraints
from tests.pages.shown import page_text
from tests.pages.stores import add_run
from treelab.learners.setting_text import setting_words


@pytest.fixture
def started(monkeypatch):
    """Settings of the runs that the page starts."""
    seen = {}

    def start(problem, settings, n_splits):
        seen.update(settings)
        return ["none"]

    monkeypatch.setattr("pages.state.choices.start_runs", start)
    return seen


def test_what_the_form_asks_is_in_the_settings_of_the_run(visit, store, started):
    app = visit("train", run=add_run(store, "cart"))
    app.multiselect(key="constraint-up").select("radius")
    app.number_input(key="constraint-max_columns").set_value(2)
    app.text_input(key="constraint-together").set_value("radius, colour")
    app.text_input(key="constraint-class_costs").set_value("small as fine: 3")
    app.button(key="train").click().run()
    asked = {
        "monotone": {"radius": "up"},
        "monotone_class": "small",
        "together": [["radius", "colour"]],
        "max_columns": 2,
        "class_costs": {"small": {"fine": 3.0}},
    }
    assert {key: own["constraints"] for key, own in started.items()} == {
        "cart": asked,
        "gradtree": asked,
    }
    assert "probability of small up with radius" in setting_words(
        "cart", started["cart"], "binary"
    )
    app.text_input(key="constraint-together").set_value("radus").run()
    assert "did you mean 'radius'" in app.error[0].value
    assert app.button(key="train").disabled
    app.text_input(key="constraint-together").set_value("")
    app.pills(key="learners").set_value(["cart", "get"]).run()
    assert "GET keeps no constraints but class" in app.error[0].value
    app.multiselect(key="constraint-up").unselect("radius")
    app.number_input(key="constraint-max_columns").set_value(None).run()
    assert not app.error
    app.button(key="train").click().run()
    assert started["get"]["constraints"] == {"class_costs": {"small": {"fine": 3.0}}}


def test_the_tree_page_says_what_holds_and_what_does_not(visit, store):
    monotone = {"radius": "up"}
    asked = {"monotone": monotone, "max_columns": 1, "column_costs": {"radius": 1}}
    run = add_run(store, "cart", "weight", settings={"constraints": asked})
    text = page_text(visit("tree", run=run))
    assert "radius up: holds on every possible row" in text
    assert "at most 1 column: does not hold. It tests 3 columns." in text
    assert "columns cost radius 1" in text


def test_trees_of_columns_that_are_alike_are_checked_each_by_itself(store):
    asked = {"monotone": {"radius": "up"}}
    run = store.run(add_run(store, "cart", "weight", settings={"constraints": asked}))
    tree = store.model(run.id)
    falls = replace(tree, value=-tree.value)  # with radius, in which it rises
    other = replace(falls, feature=np.where(falls.feature == 0, 1, falls.feature))
    holds = [kept_constraints(run, own)[0].holds for own in (tree, falls, other)]
    assert holds == [True, False, True]
