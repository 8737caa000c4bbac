"""Train: choose learners, start them, watch their curves and the tree grow."""

import streamlit as st

from pages.common.cached.store import find_run, queue, start_runs, store
from pages.common.state.problem import current_problem, findings
from pages.common.theme import mode, page_title, show_figure
from pages.common.views.groups import (
    AIM,
    LOSS,
    LOSS_AXIS,
    follow_run,
    groups_form,
    groups_of,
    groups_words,
    pick_aim,
    pick_labels,
)
from pages.common.views.live import (
    best_run,
    card,
    curve,
    growing_tree,
    guess,
    loss_unit,
    names_and_colors,
    newest_of_each_kind,
    result_words,
    runs_of,
)
from pages.common.views.viewer import tree_viewer
from pages.common.widgets.app_shell import require_frame
from pages.common.widgets.import_model import bring_box
from pages.common.widgets.settings import settings_form
from pages.common.words import plain
from treelab.data.problem import Problem
from treelab.figures.curves import loss_figure, loss_panels
from treelab.learners.registry import CLUSTERS, LEARNERS
from treelab.trees.text.numerals import counted

LIVE_HEIGHT = 320  # pixels of the tree beside the curves
MOST_SHOWN = 6  # runs on the chart; the older ones wait below
PILL_COLORS = {  # the theme gives these words the learners' colours
    "cart": "gray",
    "gradtree": "blue",
    "grande": "orange",
    "get": "green",
    "argmin": "violet",
}
X_TITLES = {"seconds": "seconds since the run began", "epoch": "epoch"}


def follow_address() -> None:
    """Bring the run that the address names into view, and what it is about."""
    named = st.query_params.get("run")
    if not named or named == st.session_state.get("run-address"):
        return
    st.session_state["run-address"] = named
    if run := find_run(named):
        follow_run(run)
        st.session_state["run"] = run.id


def start(wanted: Problem, learners: dict[str, dict]) -> None:
    """Start the runs and turn the live tree to the last of them."""
    st.session_state["run"] = start_runs(wanted, learners)[-1]


def pick_learners() -> list[str]:
    """Let the visitor choose learners."""
    return st.pills(
        "Learners",
        list(LEARNERS),
        selection_mode="multi",
        default=["cart", "gradtree"],
        format_func=lambda key: (
            f":{PILL_COLORS.get(key, 'gray')}[●] {LEARNERS[key].title}"
        ),
        key="learners",
        persist_state="session",
    )


def predict_form(chosen: list[str]) -> tuple[Problem, dict[str, dict], bool]:
    """Show the learners' settings; returns what ``groups_form`` does."""
    learners: dict[str, dict] = {}
    complete = bool(chosen)
    if chosen:
        names = " and ".join(LEARNERS[key].title for key in chosen[:2])
        names = names if len(chosen) <= 2 else counted(len(chosen), "learner")
        with st.expander(
            f"Settings of {names}", icon=":material/tune:", key="settings"
        ):
            specs = [LEARNERS[key] for key in chosen]
            learners, complete = settings_form(specs, problem.task)
    for found in findings(problem):
        if found.level == "error":
            st.error(plain(found.sentence), icon=":material/error:")
            complete = False
    return problem, learners, complete


require_frame()
follow_address()
problem = current_problem()
aim_words = f"Runs that predict {plain(problem.target)} of {plain(problem.table_name)}."
if st.session_state.get(AIM) == "groups":
    aim_words = f"Runs that find groups of rows in {plain(problem.table_name)}."
page_title("How do the trees learn?", aim_words)

with st.container(horizontal=True, vertical_alignment="bottom", key="train-choices"):
    in_groups = pick_aim(problem)
    asked = pick_labels(problem) if in_groups else pick_learners()
    st.space("stretch")
    place_of_button = st.empty()
if in_groups:
    wanted, settings, complete = groups_form(problem, asked)
    learners = {CLUSTERS.key: settings}
    button, icon = "Find groups", ":material/bubble_chart:"
else:
    wanted, learners, complete = predict_form(asked)
    button, icon = "Train", ":material/play_arrow:"
    bring_box(problem)
if place_of_button.button(
    button,
    type="primary",
    icon=icon,
    disabled=not complete or wanted is None,
    key="train",
    help=f"On {queue().device()}.",
):
    start(wanted, learners)
    st.rerun()

runs = groups_of(problem) if in_groups else runs_of(problem)
if not runs:
    how = (
        "Press Find groups: the curve and the tree of groups will grow here."
        if in_groups
        else "Choose learners and press Train: their curves and the tree will grow "
        "here."
    )
    st.info(f"No run on this table yet. {how}", icon=":material/info:")
    st.stop()

shown = newest_of_each_kind(runs)[:MOST_SHOWN]
earlier = [run for run in runs if run not in shown]
active = any(not run.is_finished for run in shown)
labels = names_and_colors(shown) | names_and_colors(earlier)


@st.fragment(run_every="1s" if active else None)
def watch() -> None:
    """Draw what the runs have done so far; goes on until all have ended."""
    queue().check()
    now = [found for run in shown if (found := find_run(run.id))]
    if not now:  # deleted elsewhere
        st.rerun()
    draw_result(now)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        draw_curves(now)
    with right:
        draw_tree(now)
    for run in now:
        draw_card(run)
    if active and all(run.is_finished for run in now):
        st.rerun()


def draw_result(now) -> None:
    """Say in one line what was found, or that trees still learn."""
    with st.container(
        horizontal=True, vertical_alignment="center", key="result", gap="medium"
    ):
        words = groups_words(now) if in_groups else result_words(now)
        if words:
            st.markdown(words, width="content")
            best = next((run for run in now if run.has_model), None)
            if not in_groups:
                best = best_run(now)
            params = {"run": best.id} if best else {}
            st.page_link("pages/tree.py", label="See the tree", query_params=params)
            if in_groups:
                st.page_link("pages/pruning.py", label="Prune", query_params=params)
            else:
                st.page_link("pages/compare.py", label="Compare")
        else:
            busy = counted(sum(not run.is_finished for run in now), "run")
            words = f"Training {busy} on {plain(queue().device())}"
            none = "Nothing found yet" if in_groups else "No score yet"
            st.markdown(words if active else none)


def draw_curves(now) -> None:
    """Draw all runs' losses on one chart, or apart, as the visitor chose."""
    by = st.session_state.get("curves-by", "seconds")
    curves = [curve(run, *labels[run.id], by) for run in now]
    curves = [one for one in reversed(curves) if len(one.x)]
    given = {
        "x_title": X_TITLES[by],
        "y_title": LOSS_AXIS if in_groups else loss_unit(problem),
        "mode": mode(),
    }
    if st.session_state.get("curves-as") == "apart" and curves:
        figure = loss_panels(curves, **given)
    else:
        guessing = None if in_groups else guess(problem)
        figure = loss_figure(curves, guess=guessing, **given)
    show_figure(figure, key="loss")
    with st.container(horizontal=True, vertical_alignment="center"):
        what = LOSS if in_groups else "Mean loss of a row"
        st.caption(f"{what}. A dot marks a run's lowest validation loss.")
        with st.popover("View", icon=":material/tune:", type="tertiary"):
            st.segmented_control(
                "Curves",
                ["together", "apart"],
                default="together",
                required=True,
                key="curves-as",
                persist_state="session",
                help="Apart: a chart for each run, each with axes of its own.",
            )
            st.segmented_control(
                "Along",
                list(X_TITLES),
                default="seconds",
                required=True,
                key="curves-by",
                persist_state="session",
                help="An epoch is one pass over the rows; learners need very "
                "different numbers of them.",
            )


def draw_tree(now) -> None:
    """Draw the tree of the run in view as it stands now."""
    run = run_in_view(now)
    picture = growing_tree(run)
    st.markdown(f"**{plain(labels[run.id][0])}**, {plain(picture.words)}")
    if picture.payload is not None:
        tree_viewer(
            picture.payload,
            f"tree-view-live-{run.id}",
            height=LIVE_HEIGHT,
            compact=True,
            live=True,
        )


def draw_card(run) -> None:
    """Draw a run's line, and what can be done with the run beside it."""
    with st.container(
        horizontal=True, vertical_alignment="center", border=True, key=f"card-{run.id}"
    ):
        st.html(card(run, *labels[run.id]))
        st.button(
            "Show",
            icon=":material/visibility:",
            key=f"show-{run.id}",
            on_click=st.session_state.__setitem__,
            args=("run", run.id),
            type="tertiary",
            disabled=run.id == run_in_view(shown).id,
            help="Draws this run's tree beside the curves.",
        )
        if run.is_finished:
            st.page_link(
                "pages/tree.py",
                label="Open",
                icon=":material/account_tree:",
                query_params={"run": run.id},
                disabled=not run.has_model,
                width=86,
            )
        else:
            st.button(
                "Stop",
                icon=":material/stop:",
                key=f"stop-{run.id}",
                on_click=store().request_stop,
                args=(run.id,),
                type="tertiary",
                disabled=run.stop_requested,
                help="Ends the training and keeps the best tree so far.",
                width=86,
            )


def run_in_view(now):
    """Return the run whose tree is drawn: the one chosen, or the newest that grows."""
    named = st.session_state.get("run")
    by_id = {run.id: run for run in now}
    grown = [run for run in now if run.learner != "cart"]
    run = by_id.get(named) or (grown or now)[0]
    if st.query_params.get("run") != run.id:
        st.query_params["run"] = run.id
    st.session_state["run-address"] = run.id
    return run


with st.container(key="live"):
    watch()
if earlier:
    with st.expander(
        f"{counted(len(earlier), 'earlier run')} on this table",
        icon=":material/history:",
        key="earlier",
    ):
        for run in earlier:
            st.html(card(run, *labels[run.id]))
        st.page_link("pages/runs.py", label="All runs")
