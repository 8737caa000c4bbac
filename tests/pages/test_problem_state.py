"""The problem that is shown follows the widgets that are shown, and no others."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pages.cached import store as cached
from pages.data import columns
from pages.state import choices as state
from tests.pages.stores import add_run


@pytest.fixture
def trap(store, monkeypatch):
    """A problem, with a session that holds nothing."""
    monkeypatch.setattr(state.st, "session_state", {})
    return store.run(add_run(store, "cart")).problem


def test_a_widget_changes_the_problem_that_it_was_drawn_for(trap):
    state.choose_problem(trap)
    state.change_problem(trap, lambda now: replace(now, seed=7))
    # What another widget changed meanwhile stays.
    state.change_problem(trap, lambda now: replace(now, columns=now.columns[:1]))
    assert state.current_problem() == replace(trap, seed=7, columns=trap.columns[:1])


@pytest.mark.parametrize("name", ["table_id", "target"])
def test_a_widget_of_the_page_before_changes_nothing(trap, name):
    shown = replace(trap, **{name: "another"})
    state.choose_problem(trap)
    state.change_problem(shown, lambda now: replace(now, seed=7))
    assert state.current_problem() == trap


def test_edits_of_columns_leave_what_was_said_of_a_target(trap):
    said = {"kinds": {"ripe": "category"}, "rare": {"ripe": 5.0}}
    problem = replace(
        trap, target="ripe", **{k: tuple(v.items()) for k, v in said.items()}
    )
    state.choose_problem(problem)
    edited = {"edited_rows": {0: {"use": False}}}
    state.st.session_state |= {"base": columns._rows(problem), "editor": edited}
    columns._apply("editor", "base", problem)
    now = state.current_problem()
    assert set(now.columns) == set(problem.columns) - {"radius"}
    assert (now.kinds, now.rare) == (problem.kinds, problem.rare)


def test_a_run_from_before_a_setting_fills_the_form(trap, store):
    (run,) = store.runs()
    state.fill_form(replace(run, settings={"max_depth": 3}))
    shown = state.st.session_state
    assert shown["setting-cart-max_depth"] == 3
    assert shown["setting-cart-tune"] is True


def test_a_large_table_is_shared_as_a_small_one_is(visit, store, monkeypatch):
    frame = pd.DataFrame({"x": np.arange(40.0), "y": ["a", "b"] * 20})
    monkeypatch.setattr("pages.cached.store.LARGE_CELLS", frame.size)
    key = store.add_table(frame, "large for this test")
    cached._is_large.cache_clear()
    app = visit("data", table=key)
    assert not app.exception
    assert cached._is_large(store.home, key)
    assert cached.table(key) is cached._large_table(store.home, key)
    cached._is_large.cache_clear()
