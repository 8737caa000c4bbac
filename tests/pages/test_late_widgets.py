"""A widget that an interrupted page reports once more changes nothing of what came."""

from types import SimpleNamespace

import pytest

from pages.cached.runs import load_run
from pages.explain import which_row
from pages.tree import edit as split
from pages.widgets import upload
from tests.pages.stores import add_run
from treelab.editing.edits import SetThreshold
from treelab.editing.log import Session


@pytest.fixture
def state(store, monkeypatch):
    """The session's state, of which a test says what it holds."""
    held: dict = {}
    monkeypatch.setattr("streamlit.session_state", held)
    return held


def test_the_order_of_one_runs_rows_moves_no_other_runs_row(store, state):
    loaded = load_run(store.run(add_run(store, "cart")))
    state |= {"run": "another", "row": 3}
    which_row._go(loaded, 0)
    assert state["row"] == 3
    state["run"] = loaded.run.id
    which_row._go(loaded, 0)
    assert state["row"] == 1
    del state["row"]  # the page is gone
    which_row._go(loaded, 1)
    assert state["row"] == 2


def test_a_file_is_read_once(state, monkeypatch):
    read = []
    monkeypatch.setattr(upload, "_store_file", lambda file, _: read.append(file.name))
    for name, file_id in (("a.csv", "1"), ("a.csv", "1"), ("a.csv", "2"), ("b", "3")):
        state["upload"] = SimpleNamespace(
            file_id=file_id, name=name, getvalue=lambda: b""
        )
        upload._store_upload()
    assert read == ["a.csv", "a.csv", "b"]


def test_a_threshold_moves_only_the_tree_that_was_drawn(state, monkeypatch):
    done = []
    monkeypatch.setattr(split, "do", lambda loaded, edit: done.append(edit))
    editing = SimpleNamespace(
        key=str,
        path="L",
        loaded=SimpleNamespace(run=SimpleNamespace(id="run")),
        session=Session(),
    )
    state["field"] = 1.0
    edit = SetThreshold("L", 1.0)
    # A field that is drawn anew reports what it was drawn with: nobody wrote it.
    split._move(editing, "field", 1.0)
    assert done == []
    # That test scores were seen is no edit.
    state["edits-run"] = Session(seen_test=0)
    split._move(editing, "field", 2.0)
    assert done == [edit]
    for later in (Session((edit,), 1), Session((edit,), 0)):  # done, undone
        state["edits-run"] = later
        split._move(editing, "field", 2.0)
    assert done == [edit]


def test_a_threshold_that_is_undone_has_a_field_that_no_old_report_reaches(state):
    editing = SimpleNamespace(key=str, path="L")
    choice = SimpleNamespace(column="x")
    first = split._shown(editing, choice, 2.0)
    state[first] = 1.0  # written: the field stays, and keeps the keyboard
    assert split._shown(editing, choice, 1.0) == first
    undone = split._shown(editing, choice, 2.0)
    assert undone != first
    assert state[undone] == 2.0
    assert split._threshold_key(editing, choice) == undone
    state[undone] = 5e9  # written, and refused
    assert split._shown(editing, choice, 2.0) == undone
    assert state[undone] == 2.0
    del state[undone]  # another page was opened
    assert split._shown(editing, choice, 2.0) == undone
