"""The form of a learner's settings, and the settings of a run in words."""

import pytest
from streamlit.testing.v1 import AppTest

from treelab.learners.common.settings import RECIPES, LearnerSpec, Setting
from treelab.learners.registry import LEARNERS, complete_settings
from treelab.learners.setting_text import setting_words

PAPER = LearnerSpec(
    "paper",
    "Of a paper",
    "",
    "",
    "",
    "",
    (
        Setting("recipe", "Recipe", "", "choice", "treelab", choices=RECIPES),
        Setting("epochs", "Epochs", "", "int", 100, 1, paper=1000),
        Setting("depth", "Depth", "", "int", 5, 1, paper=3),
    ),
)


def form():
    """A form of one learner with a setting of each kind."""
    import streamlit as st

    from pages.widgets.settings import settings_form
    from treelab.learners.common.settings import RECIPES, LearnerSpec, Setting

    settings = (
        Setting("size", "Size", "", "int", None, 1, 9),
        Setting("epochs", "Epochs", "", "int", "auto", 1, choices=("auto",)),
        Setting("rate", "Rate", "", "float", 0.5, above=0, maximum=1),
        Setting("fast", "Fast", "", "bool", True),
        Setting("loss", "Loss", "", "choice", "a", choices=("a", "b")),
        Setting("hidden", "", "", "int", 3, paper=4),
        Setting("power", "Power", "", "int", 2, needs=("loss", ("b",))),
    )
    settings += (Setting("recipe", "Recipe", "", "choice", "treelab", choices=RECIPES),)
    spec = LearnerSpec("one", "One", "", "", "", "", settings)
    st.session_state["found"] = settings_form([spec], "binary")


def found(app):
    """The settings that the form returned, and whether all can be read."""
    chosen, complete = app.session_state["found"]
    return chosen["one"], complete


@pytest.fixture
def app():
    return AppTest.from_function(form).run()


def test_the_form_shows_what_has_a_label_at_its_default(app):
    settings, complete = found(app)
    assert complete
    assert settings == {
        "size": None,
        "epochs": "auto",
        "rate": 0.5,
        "fast": True,
        "loss": "a",
        "recipe": "treelab",
    }


def test_a_setting_is_shown_where_it_applies_to_what_else_is_chosen(app):
    assert "Power" not in [box.label for box in app.number_input]
    app.selectbox(key="setting-one-loss").set_value("b").run()
    app.number_input(key="setting-one-power").set_value(4).run()
    assert found(app)[0]["power"] == 4
    app.selectbox(key="setting-one-loss").set_value("a").run()
    assert "power" not in found(app)[0]


def test_a_word_is_an_empty_number_with_that_word(app):
    shown = {box.label: (box.value, box.placeholder) for box in app.number_input}
    assert shown["Size"] == (None, "none")
    assert shown["Epochs"] == (None, "auto")
    app.number_input(key="setting-one-size").set_value(4).run()
    app.number_input(key="setting-one-epochs").set_value(7).run()
    settings, _ = found(app)
    assert (settings["size"], settings["epochs"]) == (4, 7)


def test_a_switch_is_a_toggle(app):
    app.toggle(key="setting-one-fast").set_value(False).run()
    assert found(app)[0]["fast"] is False


def test_a_small_number_stands_as_it_was_written(app):
    assert app.number_input(key="setting-one-rate").proto.format % 0.001 == "0.001"


def test_a_number_on_its_exclusive_bound_is_refused_in_place(app):
    app.number_input(key="setting-one-rate").set_value(0.0).run()
    assert not found(app)[1]
    assert "rate must be" in app.error[0].value


@pytest.mark.parametrize("key", LEARNERS)
@pytest.mark.parametrize("task", ["binary", "regression"])
def test_defaults_have_no_words(key, task):
    spec = LEARNERS[key]
    assert setting_words(key, spec.defaults(task), task) == ""


def test_what_differs_is_written_by_its_label():
    settings = LEARNERS["cart"].defaults("binary") | {"max_depth": 3}
    assert setting_words("cart", settings, "binary") == "max depth 3"
    settings = LEARNERS["argmin"].defaults("binary") | {"pruning_strength": [0, 1.5]}
    assert setting_words("argmin", settings, "binary") == "pruning strengths 0, 1.5"


def test_the_papers_recipe_is_named_and_its_values_are_not_listed(monkeypatch):
    monkeypatch.setitem(LEARNERS, "paper", PAPER)
    settings = complete_settings("paper", "binary", {"recipe": "paper"})
    assert settings == {"recipe": "paper", "epochs": 1000, "depth": 3}
    assert setting_words("paper", settings, "binary") == "paper's recipe"
    words = setting_words("paper", settings | {"depth": 2}, "binary")
    assert words == "paper's recipe, depth 2"


def test_the_papers_values_are_listed_where_its_recipe_is_chosen(app):
    assert not app.caption
    app.selectbox(key="setting-one-recipe").set_value("paper").run()
    (caption,) = app.caption
    assert caption.value.endswith("where you change nothing\\: hidden 4.")
    app.number_input(key="setting-one-rate").set_value(0.25).run()
    assert found(app) == ({"rate": 0.25, "recipe": "paper"}, True)


def test_a_default_that_differs_by_task_is_that_of_the_table_shown(visit, store):
    app = visit("train", table="breast_cancer", learners="grande")
    fields = {own.label: own.placeholder for own in app.number_input}
    assert fields["Max deciding trees"] == "auto"
    app.selectbox(key="bar-table").set_value("diabetes").run()
    fields = {own.label: own.placeholder for own in app.number_input}
    assert not app.exception
    assert app.session_state["problem"].task == "regression"
    assert fields["Max deciding trees"] == "none"
