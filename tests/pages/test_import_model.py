"""A model from elsewhere is taken in on Train, and shown on Tree."""

import json
import re

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import treelab
from pages.cached.tree_pictures import live_tree
from tests.pages.shown import nodes, page_text, viewers
from treelab.data.builtin import BUILTIN
from treelab.runs.jobs.import_model import NOTE
from treelab.runs.run_words import ranked_runs

TABLE = BUILTIN["breast_cancer"].load()
X, Y = TABLE.drop(columns="diagnosis"), TABLE["diagnosis"]


def train(visit):
    """The Train page, on the table that the models were fitted to."""
    return visit("train", table="breast_cancer")


def import_file(app, text: str, name: str = "theirs.json"):
    """Put a file into the box and press the button."""
    app.file_uploader(key="import-file").upload(name, text.encode(), "application/json")
    return app.run().button(key="import-start").click().run()


def boosted(n_trees: int) -> str:
    """JSON of an xgboost model; benign is its class 0."""
    model = xgboost.XGBClassifier(n_estimators=n_trees, max_depth=2)
    model.fit(X, (Y == "malignant").astype(int))
    return bytes(model.get_booster().save_raw("json")).decode()


def test_a_tree_of_treelabs_json_becomes_a_run_and_is_shown(store, visit):
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, Y)
    text = json.dumps(treelab.from_sklearn(model).to_dict())
    app = import_file(train(visit), text)
    assert not app.error
    run = store.runs()[0]
    assert (run.learner, run.state, run.title) == ("imported", "done", "theirs")
    assert run.metrics["test"]["accuracy"] > 0.85
    assert not ranked_runs(store.runs())  # it may have seen the test rows
    assert app.title[0].value == "What did it learn, and how small can it be?"
    assert len(nodes(viewers(app)[0])) == model.tree_.node_count
    rules = re.findall(r"<tr><td[^>]*>(\d+)<", page_text(app))
    n_rows = run.problem.split(store.table(run.problem.table_id)).n_rows("train")
    assert sum(map(int, rules)) == n_rows < len(X)  # it was fitted to all of them
    assert "Fitted to" not in page_text(visit("tree", run=run.id, tab="Scores"))


@pytest.mark.parametrize(
    "kind",
    [
        RandomForestClassifier,
        pytest.param(ExtraTreesClassifier, marks=pytest.mark.slow),
    ],
)
def test_a_forest_of_scikit_learn_becomes_a_run_and_is_shown(store, visit, kind):
    model = kind(4, max_depth=5, random_state=0).fit(X, Y)
    app = import_file(train(visit), json.dumps(treelab.from_sklearn(model).to_dict()))
    assert not app.error
    run = store.runs()[0]
    saved = store.model(run.id)
    assert saved.predict_proba(X) == pytest.approx(model.predict_proba(X), abs=1e-12)
    notes = " ".join(viewers(app)[0]["trees"][0]["notes"])
    assert "predict by their mean" in notes
    assert "all have the same weight" in page_text(app)
    for page in ("tree", "explain", "compare"):
        assert not visit(page, run=run.id).exception


def test_trees_of_equal_weight_before_lighter_ones_are_not_all(visit, monkeypatch):
    weight = np.repeat([0.15, 0.05], [6, 2])
    shown = "pages.widgets.tree_choices.top_estimators"
    monkeypatch.setattr(shown, lambda loaded: (np.arange(8), weight))
    model = RandomForestClassifier(8, max_depth=2, random_state=0).fit(X, Y)
    app = import_file(train(visit), json.dumps(treelab.from_sklearn(model).to_dict()))
    assert "these 6 have the highest weight" in page_text(app)


@pytest.mark.slow
def test_no_tree_of_a_forest_has_the_highest_weight(store, visit):
    model = RandomForestClassifier(30, max_depth=3, random_state=0).fit(X, Y)
    for _ in range(2):
        app = import_file(
            train(visit), json.dumps(treelab.from_sklearn(model).to_dict())
        )
    assert "Show 24 trees" in [toggle.label for toggle in app.toggle]
    assert live_tree(store.runs()[0])[0] == "tree 0 of 30, all of equal weight"
    captions = [caption.value for caption in visit("compare").caption]
    expected = "Tree 0 of 30; all have the same weight and predict together."
    assert captions.count(expected) == 2
    assert sum("trained elsewhere" in caption for caption in captions) == 1


@pytest.mark.slow
@pytest.mark.parametrize("n_trees", [1, 3])
def test_a_model_of_xgboost_learns_its_classes_from_the_page(store, visit, n_trees):
    app = import_file(train(visit), boosted(n_trees))
    assert not app.error
    assert store.runs()[0].metrics["test"]["accuracy"] > 0.85
    notes = " ".join(viewers(app)[0]["trees"][0]["notes"])
    assert ("are added up" in notes) == (n_trees > 1)
    assert NOTE in notes
    assert "wrong order" not in notes
    assert ("all have the same weight" in page_text(app)) == (n_trees > 1)
    app = train(visit)
    order = next(m for m in app.multiselect if m.key.startswith("import-classes"))
    assert order.value == ["benign", "malignant"]
    order.set_value(["malignant", "benign"]).run()
    app = import_file(app, boosted(n_trees))
    assert store.runs()[0].metrics["test"]["accuracy"] < 0.15
    notes = " ".join(viewers(app)[0]["trees"][0]["notes"])
    assert "classes may be in the wrong order" in notes


def test_what_an_xgboost_file_does_not_tell_is_asked_on_the_page(store, visit):
    app = train(visit)
    assert not [field for field in app.number_input if field.key == "import-missing"]
    gone = X.mask(X["mean radius"] > 15, -1)
    model = xgboost.XGBClassifier(n_estimators=5, max_depth=2, missing=-1)
    model.fit(gone, (Y == "malignant").astype(int))
    text = bytes(model.get_booster().save_raw("json"))
    app.file_uploader(key="import-file").upload("m.json", text, "application/json")
    app.run().number_input(key="import-missing").set_value(-1.0)
    app.number_input(key="import-rounds").set_value(4)
    app = app.button(key="import-start").click().run()
    assert not app.error
    saved = store.model(store.runs()[0].id)
    assert saved.n_estimators == 4
    wanted = model.predict_proba(gone, iteration_range=(0, 4))
    assert saved.predict_proba(gone) == pytest.approx(wanted, abs=1e-6)


def test_a_model_of_lightgbm_becomes_a_run_and_is_shown(store, visit):
    model = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1).fit(X, Y)
    text = model.booster_.model_to_string()
    app = import_file(train(visit), text, "theirs.txt")
    assert not app.error
    saved = store.model(store.runs()[0].id)  # LightGBM wrote mean_radius
    assert saved.predict_proba(X) == pytest.approx(model.predict_proba(X), abs=1e-12)
    assert "mean radius" in {feature.column for feature in saved.features}
    run = store.runs()[0]
    n_rows = run.problem.split(store.table(run.problem.table_id)).n_rows("train")
    words = page_text(visit("explain", run=run.id))
    assert f"by the rows in each branch, of {n_rows} training rows. The pro" in words
    assert "goes by the rows that it counted itself" in words


@pytest.mark.parametrize("text", ["", "\x80\x04cos", "[1]", '{"type": "Tree"}'])
def test_what_is_no_model_is_refused_in_a_sentence(store, visit, text):
    app = import_file(train(visit), text)
    assert not app.exception
    assert len(app.error) == 1
    assert app.title[0].value == "Train and watch"
    assert store.runs() == []


def test_a_model_of_another_table_is_refused(store, visit):
    other = X.rename(columns={"mean radius": "size"})
    model = DecisionTreeClassifier(max_depth=8, random_state=0).fit(other[["size"]], Y)
    app = import_file(train(visit), json.dumps(treelab.from_sklearn(model).to_dict()))
    assert "reads 'size'" in app.error[0].value
    assert store.runs() == []


def test_numbers_of_classes_are_in_the_order_of_numbers(store, visit):
    frame = pd.DataFrame({"x": range(110), "kind": [i % 10 + 1 for i in range(110)]})
    app = visit("train", table=store.add_table(frame, "ten kinds"), target="kind")
    (classes,) = (m for m in app.multiselect if m.key.startswith("import-classes"))
    assert classes.value == list(range(1, 11))
