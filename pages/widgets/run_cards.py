"""What a run came to, as a card and in a table."""

import html
from collections import Counter

from pages.cached.store import place_in_queue, queue
from pages.widgets.page import mode
from pages.widgets.settings import setting_words
from pages.widgets.words import duration, plain, run_names, score, score_words
from treelab.evaluation.comparison import have_same_test_rows
from treelab.evaluation.metrics import TITLES, log_loss_words
from treelab.figures.style import learner_color, palette, shade
from treelab.learners.common.origin import STARTS
from treelab.learners.registry import CLUSTERS, IMPORTED
from treelab.runs.store.run import Run
from treelab.trees.words import counted, significant

# What the runs of one problem found: their names, their scores, their clusters.


def names_and_colors(runs: list[Run]) -> dict[str, tuple[str, str]]:
    """Return a name for each run, by id, and its learner's colour in a shade.

    The newest run of a learner has the full colour; the oldest has the bare name.
    """
    found: dict[str, tuple[str, str]] = {}
    names = run_names(runs)
    of_color: Counter[str] = Counter()
    for run in runs:
        color = learner_color(run.learner, run.settings)
        found[run.id] = names[run.id], shade(color, of_color[color], mode())
        of_color[color] += 1
    return found


def ranked_runs(runs: list[Run]) -> list[Run]:
    """Return the runs that compare with the newest that has a score, best first.

    They were tested on its rows and trained for its loss.
    """
    scored = _scored(runs)
    same = [
        run
        for run in scored
        if have_same_test_rows(run.problem, scored[0].problem)
        and run.loss == scored[0].loss
    ]
    return sorted(same, key=score, reverse=True)


def result_words(runs: list[Run]) -> str:
    """Write one line on what was found, best first; "" while a run goes on.

    Runs of other test rows or another loss are counted apart: they do not compare.
    """
    ranked = ranked_runs(runs)
    if not ranked or any(not run.is_finished for run in runs):
        return ""
    names = names_and_colors(runs)
    all_columns = {run.problem.columns for run in ranked}
    found = []
    for run in ranked:
        own = f"{plain(names[run.id][0])} {significant(score(run))}{_size_words(run)}"
        if len(all_columns) > 1:
            own += f" from {counted(len(run.problem.columns), 'feature')}"
        if run.origin is not None and run.origin.equals_start:
            own += f" (equals its start, {STARTS[run.origin.start]})"
        found.append(own)
    metric = TITLES[ranked[0].headline]
    n_rows = counted(ranked[0].metrics["test"]["n_rows"], "test row")
    weighted = plain(ranked[0].problem.weighted_words)
    words = f"**{', '.join(found)}**, {metric} on {n_rows}{weighted}"
    others = [run for run in _scored(runs) if run not in ranked]
    of_loss = sum(have_same_test_rows(o.problem, ranked[0].problem) for o in others)
    if n_rest := len(others) - of_loss:
        words += f". {counted(n_rest, 'run')} of another data split had other test rows"
    if of_loss:
        words += f". {counted(of_loss, 'run')} of another loss do not compare by it"
    return words


def _size_words(run: Run) -> str:
    """Write how large a run's model is, or that its size was chosen by hand."""
    if "pruned_from" in run.summary:
        return " (chosen by hand)"
    if "edited_from" in run.summary:
        return " (edited by hand)"
    if "estimators" in run.summary:
        return f" with {counted(run.summary['estimators'], 'tree')}"
    if "leaves" in run.summary:
        on_top = " and a predictor on top" if "predictors" in run.summary else ""
        return f" with {counted(run.summary['leaves'], 'leaf', 'leaves')}{on_top}"
    return ""


def _scored(runs: list[Run]) -> list[Run]:
    """Return the runs whose scores compare.

    An imported model may have been trained on the test rows.
    """
    return [run for run in runs if score(run) is not None and run.learner != IMPORTED]


def clusters_found(run: Run) -> str:
    """Write how many clusters a run found, "" before it has found any."""
    if not run.has_model or not run.summary:
        return ""
    words = counted(run.summary["leaves"], "cluster")
    if "purity" in run.summary:
        words += f", dendrogram purity {significant(run.summary['purity'])}"
    return words


def cluster_result_words(runs: list[Run]) -> str:
    """Write one line on what the newest run found; "" while a run goes on."""
    if any(not run.is_finished for run in runs):
        return ""
    for run in runs:
        if words := clusters_found(run):
            rows = run.summary["rows"]
            if "purity" in run.summary:  # the others were held out
                return f"**{words}** in {counted(rows['train'], 'training row')}"
            return f"**{words}** in {counted(sum(rows.values()), 'row')}"
    return ""


# A run as one line: its name, its progress, its state and what it found.


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
    where = [f"on {run.machine}"] if run.machine else []  # nothing for this one
    if not run.max_epochs:
        return " · ".join([f"preparing, {duration(run.elapsed)}", *where])
    stage = [run.stage] if run.stage else []
    left = run.remaining
    left = [] if left is None else [f"at most {duration(left)} left"]
    return " · ".join([*stage, f"{run.progress:.0%}", *left, *where])
