"""The run that the bar names, as a page reads it; buttons and the card of a run."""

import html
from collections import Counter
from collections.abc import Callable

import streamlit as st

from pages.cached import runs as cached
from pages.cached.runs import LoadedRun
from pages.cached.store import place_in_queue, queue, store
from pages.state.choices import current_problem, current_run, finds_clusters, resume_run
from pages.widgets.page import end_page, mode, page_link, pick_one
from pages.widgets.words import explained, plain
from treelab.figures.html import dot
from treelab.figures.style import learner_color, palette, shade
from treelab.learners.setting_text import setting_words
from treelab.runs.run_words import duration, note_words, run_name, run_names
from treelab.runs.store.run import Run


def names_and_colors(runs: list[Run]) -> dict[str, tuple[str, str]]:
    """Return names and colours by run id; a learner's newest has its full one."""
    found: dict[str, tuple[str, str]] = {}
    names = run_names(runs)
    of_color: Counter[str] = Counter()
    for run in runs:
        color = learner_color(run.learner, run.settings)
        found[run.id] = names[run.id], shade(color, of_color[color], mode())
        of_color[color] += run.state != "failed"
    return found


def state_color(state: str) -> str:
    """Return the hex colour of a run's state in the visitor's theme."""
    named = {"running": "accent", "done": "good"}
    named |= {"failed": "bad", "interrupted": "warn"}
    return getattr(palette(mode()), named.get(state, "muted"))


def run_card(run: Run, name: str, color: str) -> str:
    """Return a run as one line of HTML: name, bar, state and a note."""
    done = 1.0 if run.state == "done" else min(run.epoch / max(run.max_epochs, 1), 1.0)
    settings = setting_words(run.learner, run.settings, run.problem.task)
    word = run.state
    if run.state == "running" and run.stop_requested:
        word = "pausing" if run.pause_requested else "stopping"
    under = f'<small class="quiet">{html.escape(settings)}</small>' if settings else ""
    return (
        f'<div class="run"><span class="name">{dot(color, name)}{under}</span>'
        f'<span class="bar" role="progressbar" aria-label="{html.escape(name, True)}"'
        f' aria-valuenow="{100 * done:.0f}">'
        f'<span style="width:{done:.1%};background:{color}"></span></span>'
        f'<span class="state">{dot(state_color(run.state), word)}</span>'
        f'<span class="note">{html.escape(_note(run))}</span></div>'
    )


def _note(run: Run) -> str:
    """Write what matters about a run in its state."""
    if run.state != "queued":
        return note_words(run)
    place, wait = place_in_queue(run.id), queue().expected_start(run.id)
    words = "next in the queue" if place <= 1 else f"{place - 1} ahead in the queue"
    return words if wait is None else f"{words}, begins within {duration(wait)}"


def pick_output(loaded: LoadedRun) -> LoadedRun:
    """Let the visitor choose one of several outputs, where there are several."""
    if not loaded.outputs:
        return loaded
    st.session_state[cached.OUTPUT] = cached.chosen_output(loaded)
    chosen = pick_one(
        "Quantile" if loaded.model.levels else "Target",
        loaded.outputs,
        cached.OUTPUT,
        default=None,  # that of the session
        persist_state="session",
        wrap=True,
        help="The tree predicts them all; what stands here is of this one.",
    )
    return loaded.of_output(chosen)


def pick_whole_run(*, growing: bool = True) -> LoadedRun:
    """Load the run that the bar names; stop the page where there is nothing to show.

    Of a run in training it is the newest tree, unless ``growing`` is false.
    """
    run = current_run()
    if run is None:
        now = current_problem()
        goal = "find clusters" if finds_clusters() else f"predict “{now.target}”"
        words = f"Nothing is trained on {now.table_name} to {goal} yet. Train first."
        end_page(words, "train", "Train")
    if not run.has_model and not (growing and store().snapshots(run.id)):
        what = "tree" if growing else "model"
        words = f"{run_name(run)} is {run.state}: it has no {what} yet."
        words = " ".join(filter(None, (words, run.error, run.way_to_model)))
        label = "Train" if run.is_finished else "Watch it train"
        end_page(words, "train", label, "hourglass_top")
    loaded = loaded_or_end(run, cached.load_whole)
    if loaded.epoch is not None:
        state = "Still training" if run.state == "running" else "No model was saved"
        words = f"{state}. Shown: {cached.epoch_words(run, loaded.epoch)}."
        st.info(words, icon=":material/hourglass_top:")
        if run.state == "running":
            st.button("Load the newest tree", icon=":material/refresh:")
    return loaded


def loaded_or_end(run: Run, load: Callable = cached.load_run) -> LoadedRun:
    """Load a run, or say what is wrong with it and end the page."""
    try:
        return load(run)
    except (LookupError, OSError, ValueError) as error:
        st.error(f"This run cannot be shown. {plain(error)}", icon=":material/error:")
        page_link("runs", "All runs")
        st.stop()


RESUME_WORDS = {
    "paused": ("Resume", "Goes on where it was."),
    "interrupted": (
        "Resume",
        "Goes on from the last checkpoint, about half a minute before it was cut off.",
    ),
    "failed": ("Retry", "Tries again, from the last checkpoint where there is one."),
}
_RUN_ICONS = {"Pause": "pause", "Resume": "play_arrow", "Retry": "replay"}


def pause_or_resume(run: Run, prefix: str = "", *, has_word: bool = True) -> None:
    """Show the button that pauses a run, or takes it up again; maybe its icon alone."""
    name, act, asked = "pause", store().request_pause, run.stop_requested
    word, words = "Pause", "Saves where the training is; Resume goes on from there."
    if run.can_resume:
        name, act, asked = "resume", resume_run, False
        word, words = RESUME_WORDS[run.state]
    st.button(
        word if has_word else "",
        icon=f":material/{_RUN_ICONS[word]}:",
        key=f"{prefix}{name}-{run.id}",
        on_click=explained(act, run.id),
        type="tertiary",
        disabled=asked or not store().may_change(run),
        help=words,
        width=100 if has_word else "content",
    )
