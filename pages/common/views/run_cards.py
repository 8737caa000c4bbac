"""A run as one line: its name, its progress, its state and what it found."""

import html

from pages.common.cached.store import place_in_queue, queue
from pages.common.theme import mode
from pages.common.views.results import clusters_found
from pages.common.widgets.settings import setting_words
from pages.common.words import duration, score_words
from treelab.evaluation.metrics import log_loss_words
from treelab.figures.style import palette
from treelab.learners.registry import CLUSTERS
from treelab.runs.store.run import Run

STATE_COLORS = {
    "queued": "muted",
    "running": "accent",
    "done": "good",
    "stopped": "muted",
    "failed": "bad",
    "interrupted": "warn",
    "paused": "muted",
}


def state_color(state: str) -> str:
    """Return the hex colour of a run's state in the visitor's theme."""
    return getattr(palette(mode()), STATE_COLORS[state])


def run_card(run: Run, name: str, color: str) -> str:
    """Return a run as one line of HTML: name, bar, state and a note."""
    done = 1.0 if run.state == "done" else run.epoch / max(run.max_epochs, 1)
    done = min(done, 1.0)
    settings = setting_words(run.learner, run.settings, run.problem.task)
    state = state_color(run.state)
    word = run.state
    if run.state == "running" and run.stop_requested:
        word = "pausing" if run.pause_requested else "stopping"
    under = f'<small class="quiet">{html.escape(settings)}</small>' if settings else ""
    return (
        '<div class="run">'
        f'<span class="name"><span class="dot" style="background:{color}"></span>'
        f"{html.escape(name)}{under}</span>"
        f'<span class="bar" role="progressbar" aria-label="{html.escape(name, True)}"'
        f' aria-valuenow="{100 * done:.0f}">'
        f'<span style="width:{done:.1%};background:{color}"></span></span>'
        f'<span class="state"><span class="dot" style="background:{state}"></span>'
        f"{word}</span>"
        f'<span class="note">{html.escape(_note(run))}</span></div>'
    )


def _note(run: Run) -> str:
    """Write what matters about a run in its state."""
    if run.state == "queued":
        place = place_in_queue(run.id)
        words = "next in the queue" if place <= 1 else f"{place - 1} ahead in the queue"
        wait = queue().expected_start(run.id)
        return words if wait is None else f"{words}, begins within {duration(wait)}"
    if run.state == "running":
        return _progress(run)
    found = score_words(run) if run.metrics else ""
    if run.learner == CLUSTERS.key:
        found = clusters_found(run)
    if run.state == "paused":
        return f"paused at {run.progress:.0%}" if run.attempts else "not begun"
    if run.state in ("failed", "interrupted") or not found:
        return run.error
    parts = [found, log_loss_words((run.metrics or {}).get("test") or {})]
    return " · ".join([*filter(None, parts), duration(run.elapsed)])


def _progress(run: Run) -> str:
    """Write how far a run in training has come."""
    if run.pause_requested:
        return "saves where it is"
    if run.stop_requested:
        return "saves its best tree so far"
    if not run.max_epochs:
        return f"preparing, {duration(run.elapsed)}{_where(run)}"
    stage = f"{run.stage} · " if run.stage else ""
    words = f"{stage}{run.progress:.0%}"
    if run.remaining is not None:
        words += f" · at most {duration(run.remaining)} left"
    return words + _where(run)


def _where(run: Run) -> str:
    """Write which machine trains a run, nothing for this one."""
    return f" · on {run.machine}" if run.machine else ""
