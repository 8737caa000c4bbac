"""What a run came to, as a card and in a table."""

import html
from collections import Counter

from pages.cached.store import place_in_queue, queue
from pages.widgets.page import mode
from treelab.figures.style import learner_color, palette, shade
from treelab.learners.setting_text import setting_words
from treelab.runs.run_words import duration, note_words, run_names
from treelab.runs.store.run import Run


def names_and_colors(runs: list[Run]) -> dict[str, tuple[str, str]]:
    """Return names and colours by run id; a learner's newest has its full colour."""
    found: dict[str, tuple[str, str]] = {}
    names = run_names(runs)
    of_color: Counter[str] = Counter()
    for run in runs:
        color = learner_color(run.learner, run.settings)
        found[run.id] = names[run.id], shade(color, of_color[color], mode())
        of_color[color] += 1
    return found


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
    done = 1.0 if run.state == "done" else min(run.epoch / max(run.max_epochs, 1), 1.0)
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
    if run.state != "queued":
        return note_words(run)
    place, wait = place_in_queue(run.id), queue().expected_start(run.id)
    words = "next in the queue" if place <= 1 else f"{place - 1} ahead in the queue"
    return words if wait is None else f"{words}, begins within {duration(wait)}"
