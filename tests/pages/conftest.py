"""The app as a visitor opens it, over a store of its own and without workers."""

from functools import cache
from pathlib import Path

import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from pages.cached import runs as events
from treelab.runs.store.run_store import RunStore

APP = Path(__file__).parents[2] / "app.py"


@pytest.fixture(scope="session", autouse=True)
def _packages_searched_once():
    """Let Streamlit search the installed packages once, not for every AppTest."""
    with pytest.MonkeyPatch.context() as patch:
        search = cache(manifest_scanner.scan_component_manifests)
        patch.setattr(manifest_scanner, "scan_component_manifests", search)
        yield


@pytest.fixture
def store(tmp_path, monkeypatch) -> RunStore:
    """An empty run store that the app uses; nothing trains in it."""
    monkeypatch.setenv("TREELAB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TREELAB_SLOTS", "0")
    monkeypatch.delenv("TREELAB_CLUSTER", raising=False)
    monkeypatch.setattr(events, "FRESH_SECONDS", 0.0)  # a test waits for no other page
    return RunStore()


@pytest.fixture
def visit(store):
    """Open a page by its file's name, and the address's parameters."""

    def open_page(name: str, **params: str) -> AppTest:
        app = AppTest.from_file(str(APP), default_timeout=30)
        if name != "data":
            with pytest.MonkeyPatch.context() as patch:  # no more than the app shell
                patch.setattr("pages.widgets.page.page_title", lambda *_: st.stop())
                app.run()
            app.switch_page(f"pages/{name}.py")
        for key, value in params.items():
            app.query_params[key] = value
        app.run()
        if "tab" in params and "tab" not in app.session_state:
            app.session_state["tab"] = params["tab"]
            app.run()
        assert not app.exception, app.exception
        return app

    return open_page
