"""What every page begins with: the app around it, its bar, its title, its colours."""

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import date
from math import isnan
from pathlib import Path
from typing import NoReturn

import plotly.graph_objects as go
import streamlit as st

from pages.cached.store import readiness, start_workers
from pages.state import choices
from pages.widgets.words import explained, plain
from treelab.data.problem import Problem
from treelab.evaluation.metrics import TITLES
from treelab.figures.explanations import importance_figure
from treelab.figures.html import dot
from treelab.figures.style import learner_color, text_on
from treelab.runs.run_words import distinct, run_names, score
from treelab.runs.store.run import Run
from treelab.trees.colors import Mode, Palette, mix, palette
from treelab.trees.dates import read_hours
from treelab.trees.words import counted, short_time, significant

DRAWING, MOST_STARTING = 3.0, 10.0  # seconds that what can wait gives others
_THEN = '<span class="quiet">›</span>'


def show_bar() -> None:
    """Show what is current, each of the three to be changed here for all pages."""
    lost = choices.follow_address()
    problem, run = choices.current_problem(), choices.current_run()
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", key="bar"
    ):
        key, titles = choices.table_key(problem), choices.table_titles()
        if key not in titles:
            titles = {key: problem.table_name} | titles
        titles = distinct(titles)
        how = {"format_func": titles.__getitem__, "width": 210}
        _pick("Table", "bar-table", list(titles), key, choices.choose_table, **how)
        st.html(_THEN, width="content")
        _pick_target(problem)
        st.html(_THEN, width="content")
        _pick_run(run)
        if run is not None and score(run) is not None:
            n_rows = counted(run.metrics["test"]["n_rows"], "test row")
            metric, n_targets = TITLES[run.headline], len(run.problem.targets)
            if n_targets > 1:
                metric = f"mean {metric} of {n_targets} targets"
            st.caption(plain(f"{metric}, {n_rows}{run.problem.weighted_words}"))
    if lost:
        st.caption(
            "The run that the address names is not here: it was deleted, or is not "
            "shared with you."
        )


def _pick(label: str, key: str, options: list, chosen, turn: Callable, **given) -> None:
    """Show a choice whose value is that of the session, not of the browser.

    ``turn`` gets what is picked, unless another table or target is current by then.
    """
    problem = choices.current_problem()

    def follow() -> None:
        picked = st.session_state[key]
        if picked is not None and choices.is_shown(problem):
            turn(picked)

    st.session_state[key] = chosen
    given |= {"label_visibility": "collapsed", "on_change": explained(follow)}
    st.selectbox(label, options, key=key, **given)


def _pick_target(problem: Problem) -> None:
    """Let the visitor predict another column."""

    def turn(target: str) -> None:
        """Predict a column, where clusters were to be found, too."""
        st.session_state[choices.AIM] = choices.PREDICT
        if target != problem.target:
            now = choices.current_problem()
            choices.choose_problem(choices.with_target(now, target))

    names = {problem.target: problem.target_name}
    _pick(
        "Target",
        f"bar-target-{problem.table_id}",
        choices.target_names(problem),
        None if choices.finds_clusters() else problem.target,
        turn,
        format_func=lambda name: names.get(name, name),
        placeholder="clusters",
        width=190,
    )


def _pick_run(run: Run | None) -> None:
    """Show the run as a chip of its learner's colour, to be changed for another."""
    labels = run_names(runs := choices.current_runs())
    metrics = {own.headline for own in runs if score(own) is not None}
    for own in runs:  # while it has no score, its state
        value = score(own)
        value_words = own.state if value is None else significant(value)
        if value is not None and len(metrics) > 1:  # a D² is no R²
            value_words += f" {TITLES[own.headline]}"
        labels[own.id] = f"{labels[own.id]} · {value_words}"
    color = "transparent" if run is None else learner_color(run.learner, run.settings)
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", key="bar-run-chip"
    ):
        st.html(dot(color, ""), width="content")
        _pick(
            "Run",
            "bar-run",
            list(labels),
            run and run.id,
            choices.choose_run,
            format_func=labels.__getitem__,
            placeholder="no run yet",
            disabled=not runs,
            width=250,
        )


# The way into the app shell, for a visitor who opened an inner page past it.
#
# Until ``app.py`` has run once in a fresh server, Streamlit takes the folder ``pages``
# for an app of its older kind, and a link to an inner page runs that page alone: no
# navigation, no style. The page then sends the visitor through ``app.py`` and back.


def require_app_shell() -> None:
    """Go through ``app.py`` first where this session has not."""
    if "in_app_shell" in st.session_state:
        return
    name = str(st.context.url).rstrip("/").rpartition("/")[2]
    wanted = (f"pages/{name}.py", st.query_params.to_dict())
    st.session_state["wanted_page"] = wanted
    st.switch_page("app.py")


def enter_app_shell() -> None:
    """Note that ``app.py`` has run, and go on to the page that was wanted."""
    st.session_state["in_app_shell"] = True
    if wanted := st.session_state.pop("wanted_page", None):
        page, params = wanted
        st.switch_page(page, query_params=params)


def lead_on(page: str, **given: str) -> None:
    """Go on from an address of an earlier version to what stands there now."""
    require_app_shell()
    params = st.query_params.to_dict() | given
    st.switch_page(f"pages/{page}.py", query_params=params)


_CONFIG = {"displayModeBar": False, "scrollZoom": False, "responsive": True}


def page_title(question: str, caption: str = "") -> None:
    """Open a page, first of all: the bar, which follows the address, and a title."""
    require_app_shell()
    show_bar()
    st.title(question, anchor=False)
    if caption:
        st.caption(caption)


def page_tabs(*names: str):
    """Return a page's tabs; the address names the one that is open.

    Only what is ``open`` need be drawn: a click on another tab runs the page again.
    """
    # Not bound to the address: a parameter that several pages' tabs are bound to can
    # be given by no link from one of them to another.
    named, known = st.query_params.get("tab"), st.session_state.get("tab")
    is_new = known not in names or named != st.session_state.get("tab-address")
    if is_new and named in names:
        st.session_state["tab"] = known = named
    elif known not in names:  # that of the page before
        st.session_state["tab"] = known = names[0]
    choices.write_address("tab", known if known != names[0] else None)
    return st.tabs(names, key="tab", on_change="rerun")


def show_tabs(parts: Mapping[str, Callable[[], object]]) -> None:
    """Show a page's tabs, each drawn by a function; only the open one is called."""
    for tab, show in zip(page_tabs(*parts), parts.values()):
        if tab.open:
            with tab:
                show()


_ICONS = {
    "data": "table",
    "train": "show_chart",
    "tree": "account_tree",
    "explain": "help",
    "compare": "compare",
    "runs": "history",
}


def page_link(page: str, label: str, *, disabled: bool = False, **params: str) -> None:
    """Lead to a page, with what its address then names."""
    st.page_link(
        f"pages/{page}.py",
        label=label,
        icon=f":material/{_ICONS[page]}:",
        query_params=params,
        disabled=disabled,
    )


def end_page(words: str, page: str, label: str, icon: str = "info") -> NoReturn:
    """Say why nothing is shown, lead to the page that helps, and end this one."""
    st.info(plain(words), icon=f":material/{icon}:")
    page_link(page, label)
    st.stop()


def show_figure(
    figure: go.Figure, key: str, *, alt: str | None = None, on_select="ignore"
):
    """Draw a plotly figure without a flicker when it changes.

    With ``on_select="rerun"``, or a function to be called at a click, it returns what
    the visitor clicked.
    """
    with st.container(key=f"still-{key}"):  # see the style sheet
        return st.plotly_chart(
            figure, theme=None, key=key, config=_CONFIG, alt=alt, on_select=on_select
        )


def load_figures_ahead() -> None:
    """Let the browser load what draws figures while a page without any is read."""
    with st.container(key="ahead"):  # see the style sheet
        st.plotly_chart(go.Figure(layout_template="none"), key="no-figure")


def at_leisure(function: Callable, *given):
    """Return what a function of data finds, which the page need not wait for.

    At the app's start the browser has the processors first, then the workers. A press
    meanwhile is answered at once: a script is stopped where it reads its session.
    """
    began = time.monotonic()
    while readiness() == 0 and (waited := time.monotonic() - began) < MOST_STARTING:
        if waited > DRAWING:
            start_workers()
        time.sleep(0.1)
    pool = ThreadPoolExecutor(1)
    found = pool.submit(function, *given)
    pool.shutdown(wait=False)
    while not wait([found], 0.1).done:
        st.session_state.get("tab")
    return found.result()


def pick_one(label: str, options: Iterable, key: str, **given):
    """Let the visitor choose one of a few, at first the first; a mapping names them."""
    names = options if isinstance(options, Mapping) else {}
    return st.segmented_control(
        label,
        list(options),
        format_func=lambda one: str(names.get(one, one)),
        key=key,
        **{"default": next(iter(options)), "required": True} | given,
    )


def pick_moment(label: str, key: str, unit: str = "D", **given):
    """Let the visitor choose a day, or a minute, of any year."""
    field = st.date_input if unit == "D" else st.datetime_input
    ends = {"min_value": date.min, "max_value": date.max}
    return field(label, None, key=key, **ends, **given)


def pick_time(
    label: str, key: str, example: float, known: Iterable[float] = (), **given
) -> float | None:
    """Let the visitor write a time of day or a duration; return its hours.

    NaN where the text is no time, with a word as which ``example`` to write it. The
    ``known`` hours are as of ``read_hours``.
    """
    if not (text := st.text_input(label, None, key=key, **given)):
        return None
    if isnan(hours := read_hours(text, known)):
        st.error(f"Write a time as {short_time(example)}.")
    return hours


def cells(n: int, across: int, gap: str = "medium") -> list:
    """Return places for ``n`` things, so many beside each other."""
    return [own for _ in range(0, n, across) for own in st.columns(across, gap=gap)]


def show_bars(key: str, words: str, *bars, **given) -> None:
    """Say what bars show, one a column, and draw them; see ``importance_figure``."""
    st.markdown(words)
    show_figure(importance_figure(*bars, mode=mode(), **given), key=key, alt=words)


ASSETS = Path(__file__).parents[2] / "assets"

_observer = st.components.v2.component(
    "treelab_background", js=(ASSETS / "background.js").read_text("utf-8")
)


def mode() -> Mode:
    """Return the visitor's theme, light until the browser has reported it."""
    return "dark" if st.context.theme.type == "dark" else "light"


def load_style() -> None:
    """Give the page our style sheet, and the colours of both themes as its variables.

    Colours follow the visitor's theme at once, as the browser chooses between those of
    the two backgrounds. What Python draws follows by a rerun, which a theme that
    changes while the page is open triggers.
    """
    light, dark = _variables(palette("light")), _variables(palette("dark"))
    lines = "".join(
        f"--tl-{name}:light-dark({color},{dark[name]});"
        for name, color in light.items()
    )
    # Streamlit gives its own part of the page a colour scheme; dialogs lie beside it.
    st.html(f"<style>:root{{{lines}}}body{{color-scheme:{mode()}}}</style>")
    st.html(ASSETS / "style.css")
    with st.sidebar:  # where nothing stands below it that could move
        # The run of the script that follows knows the background.
        _observer(key="background", on_background_change=lambda: None)


def _variables(colors: Palette) -> dict[str, str]:
    """Return the style sheet's colours on one background."""
    named = ("background", "panel", "text", "muted", "grid", "accent", "bad")
    return {name: getattr(colors, name) for name in named} | {
        "on-accent": text_on(colors.accent),
        "mark": mix(colors.accent, colors.background, 0.1),
        "chosen": mix(colors.accent, colors.text, 0.75),
    }
