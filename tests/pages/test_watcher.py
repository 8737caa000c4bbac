"""What follows the run store: what is read again, and what is drawn again."""

import json
from types import SimpleNamespace

import pytest
import streamlit as st
from streamlit.errors import StreamlitAPIException

from pages.cached.store import read_once
from pages.widgets import watcher as module
from pages.widgets.watcher import Watcher
from tests.pages.shown import components
from tests.pages.stores import add_run
from treelab.runs.store.database import StoreError
from treelab.runs.store.workers import ProcessId


class Rerun(Exception):
    """What ``st.rerun`` raises, with what is drawn again."""


@pytest.fixture
def versions(monkeypatch):
    """A watcher of two parts whose versions a test sets; outside of a page."""
    found = {"curves": 1, "tree": 1}
    drawn = []

    def rerun(what="app"):
        raise Rerun(what)

    monkeypatch.setattr(st, "rerun", rerun)
    monkeypatch.setattr(st, "fragment", lambda draw, **_: draw)
    monkeypatch.setattr(module, "_mount", lambda **_: None)
    monkeypatch.setattr(module, "look_after_queue", lambda: None)
    watcher = Watcher("live", 1.0, is_over=lambda: found.get("over", False))
    for name in ("curves", "tree"):
        watcher.part(name, lambda n=name: found[n], lambda n=name: drawn.append(n))
    watcher.start()
    assert drawn == ["curves", "tree"]
    return watcher, found


def test_what_did_not_change_is_not_drawn_again(versions):
    watcher, found = versions
    watcher.look()
    found["tree"] = 2
    with pytest.raises(Rerun, match=r"\['live-tree', 'clock-live'\]"):
        watcher.look()


@pytest.mark.parametrize("drawn", [["clock", "edit"], None], ids=["a part", "all"])
def test_a_look_takes_no_place_of_what_is_drawn_with_it(versions, monkeypatch, drawn):
    watcher, found = versions
    context = SimpleNamespace(fragment_ids_this_run=drawn)
    monkeypatch.setattr(module, "get_script_run_ctx", lambda **_: context)
    found["tree"] = 2
    watcher.look()
    context.fragment_ids_this_run = ["clock"]
    with pytest.raises(Rerun):
        watcher.look()


def test_a_look_that_comes_after_its_page_was_left_changes_nothing(
    versions, monkeypatch
):
    watcher, found = versions

    def unknown(what):
        raise StreamlitAPIException("No fragment found for target 'clock-live'.")

    monkeypatch.setattr(st, "rerun", unknown)
    found["tree"] = 2
    watcher.look()


def test_the_page_is_drawn_again_once_there_is_nothing_to_wait_for(versions):
    watcher, found = versions
    found["over"] = True
    with pytest.raises(Rerun, match="app"):
        watcher.look()


def test_a_store_that_cannot_be_read_is_said_and_the_clock_goes_on(
    versions, monkeypatch
):
    watcher, _ = versions

    def fail():
        raise StoreError("The disk is full.")

    monkeypatch.setattr(module, "look_after_queue", fail)
    watcher.look()
    with pytest.raises(StoreError, match="full"):
        watcher._clock()
    monkeypatch.setattr(module, "look_after_queue", lambda: None)
    watcher.look()
    watcher._clock()


def test_a_page_has_a_clock_while_a_run_trains(store, visit):
    run = add_run(store, "gradtree", state="running")
    app = visit("train", run=run)
    clocks = [json.loads(own.proto.json) for own in components(app, clocks=True)]
    assert [clock["seconds"] for clock in clocks] == [1.0]  # and the one of the sidebar
    assert {clock["hidden_seconds"] for clock in clocks} == {30}
    store.finish(run, "stopped")
    app.run()
    assert not components(app, clocks=True)


def test_watchers_read_once_until_the_store_is_written_to(store):
    read = []
    for _ in range(3):
        read_once("test", lambda: read.append(1))
    assert len(read) == 1
    other = type(store)(store.home)  # as another process's
    other.worker_registry.register_app(ProcessId.here())
    read_once("test", lambda: read.append(1))
    assert len(read) == 2
