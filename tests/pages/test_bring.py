"""A model from elsewhere is taken in on Train, and shown on Tree."""

import json

import pytest
import xgboost
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import treelab
from pages.common.views.live import best_run, growing_tree
from tests.pages.look import said, viewers
from treelab.data.builtin import BUILTIN
from treelab.runs.jobs.import_model import NOTE

TABLE = BUILTIN["breast_cancer"].load()
X, Y = TABLE.drop(columns="diagnosis"), TABLE["diagnosis"]


def bring(app, text: str, name: str = "theirs.json"):
    """Put a file into the box and press the button."""
    app.file_uploader(key="bring-file").upload(name, text.encode(), "application/json")
    return app.run().button(key="bring-keep").click().run()


def boosted(n_trees: int) -> str:
    """JSON of an xgboost model; benign is its class 0."""
    model = xgboost.XGBClassifier(n_estimators=n_trees, max_depth=2)
    model.fit(X, (Y == "malignant").astype(int))
    return bytes(model.get_booster().save_raw("json")).decode()


def test_a_tree_of_treelabs_json_becomes_a_run_and_is_shown(store, visit):
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, Y)
    text = json.dumps(treelab.from_sklearn(model).to_dict())
    app = bring(visit("train"), text)
    assert not app.error
    run = store.runs()[0]
    assert (run.learner, run.state, run.title) == ("imported", "done", "theirs")
    assert run.metrics["test"]["accuracy"] > 0.85
    assert best_run(store.runs()) is None  # it may have seen the test rows
    assert app.title[0].value == "What did it learn?"
    assert len(viewers(app)[0]["trees"][0]["nodes"]) == model.tree_.node_count


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_a_forest_of_scikit_learn_becomes_a_run_and_is_shown(store, visit, kind):
    model = kind(4, max_depth=5, random_state=0).fit(X, Y)
    app = bring(visit("train"), json.dumps(treelab.from_sklearn(model).to_dict()))
    assert not app.error
    run = store.runs()[0]
    kept = store.model(run.id)
    assert kept.predict_proba(X) == pytest.approx(model.predict_proba(X), abs=1e-12)
    notes = " ".join(viewers(app)[0]["trees"][0]["notes"])
    assert "predict by their mean" in notes
    assert "All have the same say" in said(app)
    for page in ("routing", "explain", "compare"):
        assert not visit(page, run=run.id).exception


def test_no_tree_of_a_forest_is_called_the_heaviest(store, visit):
    model = RandomForestClassifier(30, max_depth=3, random_state=0).fit(X, Y)
    for _ in range(2):
        app = bring(visit("train"), json.dumps(treelab.from_sklearn(model).to_dict()))
    assert "Show 24 trees" in [toggle.label for toggle in app.toggle]
    assert growing_tree(store.runs()[0]).words == "tree 0 of 30, all with the same say"
    captions = [caption.value for caption in visit("compare").caption]
    told = "Tree 0 of 30; all have the same say and answer together."
    assert captions.count(told) == 2


@pytest.mark.parametrize("n_trees", [1, 3])
def test_a_model_of_xgboost_learns_its_classes_from_the_page(store, visit, n_trees):
    app = bring(visit("train"), boosted(n_trees))
    assert not app.error
    assert store.runs()[0].metrics["test"]["accuracy"] > 0.85
    notes = " ".join(viewers(app)[0]["trees"][0]["notes"])
    assert ("are added up" in notes) == (n_trees > 1)
    assert NOTE in notes
    assert ("All have the same say" in said(app)) == (n_trees > 1)
    app = visit("train")
    order = next(m for m in app.multiselect if m.key.startswith("bring-classes"))
    assert order.value == ["benign", "malignant"]
    order.set_value(["malignant", "benign"]).run()
    bring(app, boosted(n_trees))
    assert store.runs()[0].metrics["test"]["accuracy"] < 0.15


@pytest.mark.parametrize("text", ["", "\x80\x04cos", "[1]", '{"type": "Tree"}'])
def test_what_is_no_model_is_refused_in_a_sentence(store, visit, text):
    app = bring(visit("train"), text)
    assert not app.exception
    assert len(app.error) == 1
    assert app.title[0].value == "How do the trees learn?"
    assert store.runs() == []


def test_a_model_of_another_table_is_refused(store, visit):
    other = X.rename(columns={"mean radius": "size"})
    model = DecisionTreeClassifier(max_depth=8, random_state=0).fit(other[["size"]], Y)
    app = bring(visit("train"), json.dumps(treelab.from_sklearn(model).to_dict()))
    assert "reads 'size'" in app.error[0].value
    assert store.runs() == []
