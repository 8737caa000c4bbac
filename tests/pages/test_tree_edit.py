"""Editing on the Tree page."""

import re
from dataclasses import replace

import numpy as np

from pages.cached.runs import load_run
from pages.tree.edit import after, candidates_at
from tests.pages import stores
from tests.pages.shown import page_text, viewers
from tests.pages.stores import add_run, add_run_of_times
from treelab.editing.edits import Forbid, Lock, Prefer, Prune, SetThreshold, Unlock
from treelab.editing.log import EditLog
from treelab.runs.store.workers import ProcessId


def press(app, name: str, run: str):
    """Press a button of the page by its name."""
    app.button(key=f"edit-{name}-{run}").click().run()
    assert not app.exception, app.exception
    return app


def test_edits_are_done_undone_saved_and_survive_other_pages(visit, store):
    run = add_run(store, "gradtree")
    app = visit("tree", edit="true", run=run, node="r0")
    text = page_text(app).replace("\\", "")
    assert "Test scores stay unseen until the session ends" in text
    assert [metric.label for metric in app.metric] == [
        "macro F1 · validation, 48 rows",
        "Leaves",
    ]
    assert app.selectbox(key=f"edit-by-{run}-L").value == "colour"
    press(app, "prune-below", run)
    assert app.metric[1].value == "3 (-1)"
    assert "At L: pruned to a leaf." in page_text(app).replace("\\", "")
    press(app, "undo", run)
    assert app.metric[1].value == "4"
    press(app, "redo", run)
    app.switch_page("pages/runs.py").run()
    app.switch_page("pages/tree.py").run()
    app.toggle(key="edit").set_value(True).run()
    assert app.metric[1].value == "3 (-1)"
    press(app, "keep", run)
    newest = store.runs()[0]
    assert newest.summary["edited_from"] == run
    log = EditLog.from_json(store.plan(newest.id, "edits"))
    assert (log.edits, log.seen_test) == ((Prune("L"),), 1)
    assert len(app.metric) == 3  # the session is over: test scores are shown
    assert re.search(r"the edits|no change|no clear difference", page_text(app))


def test_a_threshold_moves_a_column_is_forbidden_and_a_lock_holds(visit, store):
    run = add_run(store, "cart")
    app = visit("tree", edit="true", run=run)
    field = app.number_input(key=f"edit-at-{run}--radius-0")
    assert field.value == store.model(run).threshold[0]
    before = app.metric[0].value
    field.set_value(2.5).run()
    assert app.session_state[f"edits-{run}"].current == (SetThreshold("", 2.5),)
    assert app.number_input(key=f"edit-at-{run}--radius-0").value == 2.5
    assert app.metric[0].value != before
    assert app.metric[0].delta.startswith("-")  # a hyphen: Streamlit's arrow falls
    text = page_text(app).replace("\\", "")
    assert "(95% CI)" in text
    assert "on the same 48 validation rows" in text
    press(app, "forbid-everywhere", run)
    assert app.session_state[f"edits-{run}"].current[-1] == Forbid("", "radius")
    assert "radius is forbidden everywhere" in page_text(app)
    press(app, "lock", run)
    assert app.session_state[f"edits-{run}"].current[-1] == Lock("")
    press(app, "prune-below", run)
    assert "is locked" in app.warning[0].value
    press(app, "end", run)
    assert app.metric[2].label == "macro F1 · test, 48 rows"


def test_a_threshold_of_times_is_written_as_one(visit, store, monkeypatch):
    run = add_run_of_times(store, monkeypatch)
    app = visit("tree", edit="true", run=run)
    field = app.text_input(key=f"edit-at-{run}--radius-0")
    assert (field.label, field.value) == ("Threshold", "12:03")
    field.set_value("9 PM").run()
    edits = app.session_state[f"edits-{run}"].current
    assert edits == (SetThreshold("", 21.0, is_time=True),)
    assert "threshold moved to 21:00." in page_text(app).replace("\\", "")
    assert app.text_input(key=field.key).value == "21:00"
    app.text_input(key=field.key).set_value("soon").run()
    assert "“soon” is no time. Write it as 21:00." in app.warning[0].value.replace(
        "\\", ""
    )
    assert app.session_state[f"edits-{run}"].current == edits
    press(app, "undo", run)
    (field,) = [own for own in app.text_input if own.label == "Threshold"]
    assert field.value == "12:03"


def test_a_proposed_threshold_is_taken_as_it_is_not_as_it_is_rounded(visit, store):
    run = add_run(store, "cart")
    best = candidates_at(load_run(store.run(run)), (), "")
    other = next(own for own in best if own.column != "radius" and own.threshold)
    app = visit("tree", edit="true", run=run)
    app.selectbox(key=f"edit-by-{run}-").select(other.column).run()
    press(app, "set-split", run)
    assert app.session_state[f"edits-{run}"].current == (other.edit(""),)


def test_an_oblique_split_can_be_replaced_by_one_column(visit, store):
    run = add_run(store, "get", "weight")
    app = visit("tree", edit="true", run=run)
    split = app.selectbox(key=f"edit-by-{run}-")
    assert split.value == "its weighted sum"
    split.set_value("radius").run()
    press(app, "set-split", run)
    (edit,) = app.session_state[f"edits-{run}"].current
    assert edit.column == "radius"


def test_training_around_starts_a_child_that_waits(visit, store):
    run = add_run(store, "gradtree")
    app = visit("tree", edit="true", run=run)
    press(app, "around", run)
    newest = store.runs()[0]
    assert (newest.learner, newest.state) == ("gradtree", "queued")
    assert (
        EditLog.from_json(store.plan(newest.id, "edits")).training.learner == "gradtree"
    )
    assert "trained around" in page_text(app)


def test_an_ensemble_is_shown_but_not_edited(visit, store):
    app = visit("tree", edit="true", run=add_run(store, "grande"))
    assert len(viewers(app)) == 1
    assert not [toggle for toggle in app.toggle if toggle.key == "edit"]
    names = [tab.label for tab in app.tabs]
    assert names == ["Rules", "Routes", "Scores", "Export"]


def test_other_categories_go_left_by_choice(visit, store):
    run = add_run(store, "cart", "weight")
    app = visit("tree", edit="true", run=run, node="r0")
    left = app.multiselect(key=f"edit-left-{run}-L-colour-0")
    other = [name for name in left.options if name not in left.value][:1]
    left.set_value(other).run()
    press(app, "set-split", run)
    (edit,) = app.session_state[f"edits-{run}"].current
    assert edit.categories == tuple(other)
    assert app.multiselect(key=f"edit-left-{run}-L-colour-1").value == other


def test_edits_of_the_same_fields_are_told_apart(store):
    loaded = load_run(store.run(add_run(store, "cart")))
    for edit in (Forbid("", "radius"), Prefer("", "radius")):
        edited = after(loaded, (edit,)).edited
        assert bool(edited.forbidden) == isinstance(edit, Forbid)
        assert bool(edited.preferred) == isinstance(edit, Prefer)
    assert after(loaded, (Lock(""),)).edited.locked
    assert not after(loaded, (Lock(""), Unlock(""))).edited.locked


def test_linear_leaves_are_said_to_count_as_constants_in_the_score(
    visit, store, monkeypatch
):
    def linear(*arguments):
        tree = stores.single_tree(*arguments)
        weights = np.zeros((tree.n_nodes, len(tree.features)))
        weights[tree.is_leaf, 0] = 0.1
        return replace(tree, leaf_weights=weights, leaf_bias=tree.value)

    monkeypatch.setitem(stores.MAKERS, "cart", linear)
    app = visit("tree", edit="true", run=add_run(store, "cart", "weight"))
    assert "Linear leaves count as constants" in app.metric[0].help


def test_rows_without_a_category_go_where_the_split_sends_them(
    visit, store, monkeypatch
):
    gaps = stores.table()
    gaps.loc[::4, "colour"] = None
    monkeypatch.setattr(stores, "table", lambda: gaps)
    run = add_run(store, "gradtree")
    text = page_text(visit("tree", edit="true", run=run, node="r0"))
    here = load_run(store.run(run)).split.X_train.query("radius <= 10.05")["colour"]
    n_left, n_right, n_missing = map(
        int,
        re.findall(r"(\d+) rows? go left; the pale bars, (\d+) rows.*? (\d+) w", text)[
            0
        ],
    )
    assert n_missing == here.isna().sum() > 0
    assert n_left + n_right == here.notna().sum()


def test_a_child_that_failed_is_listed_with_its_error(visit, store):
    run = add_run(store, "gradtree")
    app = press(visit("tree", edit="true", run=run), "around", run)
    child = store.runs()[0].id
    assert store.start(child, ProcessId.here())
    assert store.finish(child, "failed", error="It broke.")
    assert "failed. It broke" in page_text(app.run())


def test_why_an_edit_is_refused_is_shown_as_it_stands(visit, store):
    app = visit("tree", edit="true", run=add_run(store, "cart"))
    app.session_state["edit-refused"] = "texture $x$ is forbidden, $y$ is not."
    assert r"\$x\$" in app.run().warning[0].value


def test_of_a_moved_slider_it_is_said_which_tree_is_edited(visit, store):
    run = add_run(store, "cart")
    words = "The retained tree is edited"
    app = visit("tree", run=run, size="1")
    app.toggle(key="edit").set_value(True).run()
    assert app.metric[1].value == str(store.model(run).n_leaves)
    assert words in page_text(app)
    assert words not in page_text(visit("tree", run=run, edit="true"))
