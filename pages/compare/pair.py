"""The runs that are compared: that of the bar, another one, and up to two more."""

from collections.abc import Iterator

import streamlit as st

from pages.cached.runs import LoadedRun, load_readable
from pages.state.choices import PAIR, current_runs, new_in_address, write_address
from pages.widgets.page import end_page, mode
from pages.widgets.runs import loaded_or_end, pick_output, pick_whole_run
from pages.widgets.words import plain
from treelab.evaluation.comparison import have_same_test_rows
from treelab.figures.style import learner_color, shade
from treelab.runs.run_words import run_name, run_names
from treelab.runs.store.run import Run

AGAINST, OTHERS = PAIR
MOST_OTHERS = 2
SIDES = ("first", "second", "third", "fourth")  # in keys of what is drawn of each run
Pair = tuple[LoadedRun, LoadedRun]
Names = tuple[str, str]


def why_not_compared(first: Run, second: Run) -> str:
    """Return why a second run cannot be held against a first, "" where it can."""
    if not second.has_model:
        return f"{second.title} has no model."
    if not have_same_test_rows(first.problem, second.problem):
        return "They were tested on other rows: table, target or seed differ."
    return ""


def pick_runs() -> tuple[Pair, list[LoadedRun]]:
    """Return the run that is chosen to compare with, the bar's, and up to two more."""
    loaded = pick_output(pick_whole_run(growing=False))
    partners = {
        run.id: run
        for run in current_runs()
        if run.id != loaded.run.id and not why_not_compared(loaded.run, run)
    }
    if not partners:
        words = f"No other run has the test rows of {run_name(loaded.run)}, which are"
        words += " those of the same table, target and seed"
        end_page(f"{words}. Train a second learner to compare them.", "train", "Train")
    labels = run_names(current_runs())
    chosen = _pick_against(loaded.run, partners, labels)
    offered = {key: run for key, run in partners.items() if key != chosen}
    others = _pick_others(offered, labels) if offered else []
    against = loaded_or_end(partners[chosen])
    return (against, loaded), load_readable(others)


def follow_earlier_address() -> None:
    """Turn a pair that an earlier address names into the run and what it is against."""
    if st.query_params.get("second"):
        keys = {"second": "run", "first": AGAINST, OTHERS: OTHERS}
        named = {new: st.query_params.get(old) for old, new in keys.items()}
        named = {key: value for key, value in named.items() if value}
        st.switch_page("pages/compare.py", query_params=named)


def _pick_against(run: Run, partners: dict[str, Run], labels: dict[str, str]) -> str:
    """Let the visitor choose the second run, at first the newest CART."""
    wanted = new_in_address(AGAINST) or st.session_state.get(AGAINST)
    if wanted not in partners:
        wanted = _first_partner(run, [*partners.values()])
    st.session_state[AGAINST] = wanted
    chosen = st.selectbox(
        "Compared with",
        list(partners),
        format_func=labels.__getitem__,
        key=AGAINST,
        persist_state="session",
        width=260,
    )
    write_address(AGAINST, chosen)
    return chosen


def _first_partner(run: Run, partners: list[Run]) -> str:
    """Return the newest CART, or beside a CART the newest run that was trained."""
    found = [own for own in partners if own.learner == "cart"]
    if run.learner == "cart":
        others = [own for own in partners if own.learner != "cart"]
        found = [own for own in others if own.origin is None or own.origin.trained]
    return (found or partners)[0].id


def _pick_others(offered: dict[str, Run], labels: dict[str, str]) -> list[Run]:
    """Let the visitor choose up to two more runs."""
    named = (new_in_address(OTHERS) or "").split(",")
    wanted = [i for i in named if i in offered] or st.session_state.get(OTHERS, [])
    st.session_state[OTHERS] = [i for i in wanted if i in offered][:MOST_OTHERS]
    chosen = st.multiselect(
        "Also show",
        list(offered),
        format_func=labels.__getitem__,
        max_selections=MOST_OTHERS,
        key=OTHERS,
        persist_state="session",
        placeholder="up to two more",
        width=320,
    )
    write_address(OTHERS, ",".join(chosen) or None)
    return [offered[run_id] for run_id in chosen]


def names_of(runs: list[LoadedRun] | Pair) -> tuple[str, ...]:
    """Return the names of runs, as the bar has them."""
    known = run_names(current_runs())
    return tuple(known[loaded.run.id] for loaded in runs)


def pair_colors(pair: Pair) -> tuple[str, str]:
    """Return the colours of both runs; two of one learner get two shades."""
    first, second = (
        learner_color(each.run.learner, each.run.settings) for each in pair
    )
    return shade(first, int(first == second), mode()), second


def beside(pair: Pair, names: Names, places) -> Iterator[tuple[LoadedRun, str, str]]:
    """Go through both runs, each at its place, with its name above and its key."""
    for place, loaded, name, key in zip(places, pair, names, SIDES):
        with place:
            st.markdown(f"**{plain(name)}**")
            yield loaded, name, key
