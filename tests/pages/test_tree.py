"""The Tree page."""

import pytest

from tests.pages.look import dots, said
from tests.pages.stores import add_run


def test_the_tree_stands_beside_its_test_score(visit, store):
    run = add_run(store, "cart")
    app = visit("tree", run=run)
    score = store.run(run).metrics["test"]["macro_f1"]
    assert app.metric[0].label == "macro F1 · test, 48 rows"
    assert app.metric[0].value == f"{score:.3f}"
    assert "radius ≤ 10.1 mm" in dots(app)[0].replace("<BR/>", " ")


def test_rules_tell_each_leaf_in_words(visit, store):
    app = visit("tree", run=add_run(store, "cart", "weight"))
    rules = app.dataframe[0].value
    assert len(rules) == 4
    assert rules["rule"].str.contains("radius").all()
    assert "mm" in app.code[0].value


TEXTS = ["Picture (DOT)", "Python function", "SQL CASE", "C function"]
TEXTS += ["Rules (text)", "Data (JSON)"]


@pytest.mark.parametrize(
    ("dot", "pictures"),
    [(True, ["Picture (SVG)", "Picture (PDF)"]), (False, [])],
    ids=["with-dot", "without-dot"],
)
def test_the_tree_can_be_taken_along(visit, store, monkeypatch, dot, pictures):
    monkeypatch.setattr("treelab.figures.export.has_dot", lambda: dot)
    app = visit("tree", run=add_run(store, "cart"))
    assert app.selectbox(key="take-as").options == [*pictures, *TEXTS]
    assert ("With Graphviz's dot installed" in said(app)) == (not dot)


@pytest.mark.parametrize("learner", ["cart", "grande", "argmin"])
def test_the_tree_can_be_taken_along_as_code(visit, store, learner):
    app = visit("tree", run=add_run(store, learner))
    for title in ("Python function", "SQL CASE", "C function"):
        app.selectbox(key="take-as").select(title).run()
        assert not app.exception
        (button,) = app.get("download_button")
        assert button.proto.help == f"{title} of this tree, as a file."
        assert "Runs without treelab" in said(app)
        assert ("not the ensemble's" in said(app)) == (learner == "grande")


def test_an_ensemble_says_that_all_its_trees_answer(visit, store):
    run = add_run(store, "grande")
    app = visit("tree", run=run)
    assert "The ensemble answers, not this one tree." in said(app)
    before = dots(app)
    others = [b for b in app.button if b.key and b.key.startswith(f"open-{run}")]
    others[1].click().run()
    assert dots(app) != before
    assert not app.exception


def test_a_tree_under_a_predictor_says_so(visit, store):
    assert "predictor on top" in said(visit("tree", run=add_run(store, "argmin")))


def test_colours_are_those_of_the_ground(visit, store):
    app = visit("tree", run=add_run(store, "cart"))
    assert "#17211D" in dots(app)[0]
    assert "benign" not in dots(app)[0]
