"""The Rashomon set's page, and what Explain says of other trees."""

import errno
from dataclasses import replace

import numpy as np
import pytest

from pages.cached.rashomon import tree_predictions, trees_like
from pages.cached.runs import load_run
from tests.pages import stores
from tests.pages.shown import page_text
from tests.pages.stores import add_run, table
from treelab.runs.jobs.fit import rashomon_set
from treelab.runs.jobs.rashomon import create_all
from treelab.runs.jobs.run_one import run_one
from treelab.trees.tree import Tree


@pytest.fixture
def run(store) -> str:
    """A run whose set holds trees of other thresholds."""
    run_id = add_run(store, "gradtree")
    run = store.run(run_id)
    own = store.model(run_id)
    rows = run.problem.split(store.table(run.problem.table_id)).rows("train+valid")
    moved = [
        replace(own, threshold=own.threshold + shift, between=None, missing_rows=None)
        for shift in (0.1, -0.1)
    ]
    turned = Tree.complete(
        own.features,
        np.array([1, 0, 0]),
        np.array([6.05, 10.05, 10.05]),
        np.zeros(3, dtype=bool),
        np.full((4, 3), 1 / 3),
        classes=own.classes,
        target=own.target,
    )
    store.add_rashomon(run_id, rashomon_set(run, own, [*moved, turned], rows, None))
    return run_id


def test_the_page_shows_filters_and_chooses(visit, store, run):
    app = visit("tree", tab="Alternatives", run=run)
    app.slider(key="rashomon-tolerance").set_value(0.05).run()
    text = page_text(app).replace("\\", "")
    assert "other tree" in text
    assert "In all of them" in text
    assert "At least one of these" in text
    trees = store.rashomon(run)
    near = trees.within(0.05)
    assert len(near) > 2
    app.multiselect(key="rashomon-without").set_value(["colour"]).run()
    assert not app.exception
    left = [i for i in near if "colour" not in trees.trees[i].columns]
    assert f"{len(left)} of {len(near)} trees pass" in page_text(app).replace("\\", "")
    place = int(left[0])
    app.button(key=f"rashomon-choose-gallery-{run}-{place}").click().run()
    newest = store.runs()[0]
    assert newest.summary["chosen_from"] == run
    assert f"One of {len(near)} trees within 0.05" in newest.provenance
    assert app.selectbox(key="bar-run").value == newest.id


@pytest.mark.slow
def test_all_trees_of_a_depth_are_asked_for_and_said_to_be_complete(visit, store, run):
    first = store.run(run)
    child = create_all(store, first, 2, 8)
    assert run_one(child, store.home) == "done", store.run(child).error
    text = page_text(visit("tree", tab="Alternatives", run=child)).replace("\\", "")
    n = store.rashomon(child).complete.n_cutpoints
    assert f"no other tree of depth 2 over the {n} thresholds" in text
    assert "Find more" not in text
    app = visit("tree", tab="Alternatives", run=run)
    app.button(key=f"rashomon-all-{run}").click().run()
    assert not app.exception
    assert "all trees of depth 2" in store.runs()[0].title


def test_explain_says_how_many_other_trees_predict_otherwise(visit, run):
    text = page_text(visit("explain", run=run)).replace("\\", "")
    assert "comparable trees" in text
    assert "They score at most 0.01 below this one." in text


def test_values_far_from_zero_are_told_apart(store, monkeypatch):
    far = table().assign(weight=table()["weight"] + 1e8)
    monkeypatch.setattr(stores, "table", lambda: far)
    loaded = load_run(store.run(add_run(store, "cart", "weight", sizes=True)))
    X = loaded.split.X_test
    exact = np.stack([own.predict(X) for own in trees_like(loaded).trees])
    found, _ = tree_predictions(loaded, "test")
    assert found - found.mean() == pytest.approx(exact - exact.mean(), abs=1e-5)


def test_rates_by_group_are_shown_on_the_tree_and_at_its_nodes(visit, store):
    # A column named as a rate is, and groups as what stands beside them.
    more = {"accuracy": table()["ripe"].map({True: "node", False: "difference"})}
    run = add_run(store, "cart", more=more)
    app = visit("tree", tab="Scores", run=run, node="r0")
    app.selectbox(key="group-column-tree").set_value("accuracy").run()  # left out
    assert not app.exception
    text = page_text(app).replace("\\", "")
    assert "Differences: selection rate" in text
    assert "At the selected node" in text
    shown = [own.value for own in app.dataframe if "selection rate" in own.value]
    assert {"“node”", "“difference”", "all"} == set(shown[0]["group"])


def test_trees_beside_one_trained_by_costs_score_by_what_they_save(visit, store):
    asked = {"constraints": {"class_costs": {"True": {"False": 5}}}}
    run = add_run(store, "cart", "ripe", settings=asked)
    app = visit("tree", tab="Alternatives", run=run)
    app.slider(key="rashomon-tolerance").set_value(0.05).run()
    assert "the cross-validated cost saved of" in page_text(app)


def test_beside_a_tree_of_costs_between_many_classes_others_save_as_much(visit, store):
    costs = {"small": {"fine": 5}, "fine": {"small": 1}, "rough": {"fine": 2}}
    asked = {"constraints": {"class_costs": costs}}
    run = add_run(store, "cart", settings=asked, sizes=True)
    text = page_text(visit("tree", tab="Alternatives", run=run))
    assert "the cross-validated cost saved of" in text


def test_a_tree_that_cannot_be_stored_is_said_to_be_so(visit, store, run, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device", "the disk")

    monkeypatch.setattr("treelab.runs.jobs.rashomon.save_member", full)
    app = visit("tree", tab="Alternatives", run=run)
    app.slider(key="rashomon-tolerance").set_value(0.05).run()
    trees = store.rashomon(run)
    place = next(i for i in trees.within(0.05) if i != trees.chosen)
    app.button(key=f"rashomon-choose-gallery-{run}-{place}").click().run()
    assert not app.exception
    assert "No space left" in app.error[0].value
