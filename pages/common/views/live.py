"""Runs of one problem while they train: their names, curves, cards and trees."""

import html
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st

from pages.common.cached.loaded_run import load_run, rows_for
from pages.common.cached.predictions import top_estimators
from pages.common.cached.store import queue, split_of, store
from pages.common.cached.trees import drawn_tree
from pages.common.state.problem import class_colors_of
from pages.common.theme import mode
from pages.common.views.groups import found_words
from pages.common.views.viewer import Packed, packed
from pages.common.widgets.settings import setting_words
from pages.common.words import duration, plain, run_name, score, score_words
from treelab.data.problem import Problem
from treelab.evaluation.estimator_weights import are_equal
from treelab.evaluation.metrics import TITLES, baseline_loss, headline
from treelab.figures.curves import Curve
from treelab.figures.style.colors import learner_color, palette, shade
from treelab.figures.viewer.payload import tree_payload
from treelab.learners.registry import CLUSTERS, IMPORTED, find_spec
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import default_home
from treelab.trees.pruning.simplify import prune_empty
from treelab.trees.text.numerals import counted, significant

SQUARED = {"cart", "argmin"}  # report squared units; the others shares of the variance


@dataclass(frozen=True)
class Picture:
    """A tree as it stands, where there is one yet, and words for it."""

    words: str
    payload: Packed | None = None


STATE_COLORS = {
    "queued": "muted",
    "running": "accent",
    "done": "good",
    "stopped": "muted",
    "failed": "bad",
    "interrupted": "warn",
}


def runs_of(problem: Problem) -> list[Run]:
    """Return the runs that predict the same column of the same table, newest first."""
    return [
        run
        for run in store().runs()
        if run.learner != CLUSTERS.key
        and (run.problem.table_id, run.problem.target, run.problem.task)
        == (problem.table_id, problem.target, problem.task)
    ]


def newest_of_each_kind(runs: list[Run]) -> list[Run]:
    """Leave out what was run again just so; runs that go on always stay."""
    kept, seen = [], set()
    for run in runs:
        kind = (run.learner, str(run.settings), run.problem, run.title)
        if not run.is_finished or kind not in seen:
            kept.append(run)
        seen.add(kind)
    return kept


def names_and_colors(runs: list[Run]) -> dict[str, tuple[str, str]]:
    """Tell runs apart, by id: a name each, and its learner's colour in a shade.

    The newest run of a learner has the full colour; the oldest has the bare name.
    """
    found, seen = {}, {}
    for run in reversed(runs):
        seen.setdefault(run_name(run), []).append(run)
    for name, alike in seen.items():
        for place, run in enumerate(alike):
            color = learner_color(run.learner, run.settings)
            found[run.id] = (
                name if place == 0 else f"{name} {place + 1}",
                shade(color, len(alike) - 1 - place, mode()),
            )
    return found


def curve(run: Run, name: str, color: str, by: str) -> Curve:
    """Return a run's curve, reading from the store only what is new."""
    kept = st.session_state.setdefault("events", {})
    known = kept.get(run.id)
    fresh = store().events(run.id, known["epoch"].max() if known is not None else 0)
    if known is None or len(fresh):
        known = fresh if known is None else pd.concat([known, fresh], ignore_index=True)
        if len(known):
            kept[run.id] = known
    scale = loss_scale(run)
    return Curve(
        name,
        color,
        known[by].to_numpy(),
        known["train_loss"].to_numpy() * scale,
        known["valid_loss"].to_numpy() * scale,
    )


def loss_scale(run: Run) -> float:
    """Return what brings a run's losses to the chart's unit; see ``loss_unit``."""
    if run.problem.task != "regression" or run.learner not in SQUARED:
        return 1.0
    variance = float(np.var(split_of(run.problem).y_train))
    return 1 / variance if variance else 1.0


def loss_unit(problem: Problem) -> str:
    """Say in what unit the chart's losses are."""
    if problem.task == "regression":
        return "squared error / variance"
    return "log loss (nats)"


@st.cache_data(show_spinner=False, max_entries=64)
def guess(problem: Problem) -> float:
    """Loss on the validation rows of answering the same for every row."""
    parts = split_of(problem)
    return baseline_loss(problem.task, parts.y_train, parts.y_valid)


def state_color(state: str) -> str:
    """Return the hex colour of a run's state in the visitor's mode."""
    return getattr(palette(mode()), STATE_COLORS[state])


def card(run: Run, name: str, color: str) -> str:
    """Draw a run as one line of HTML: name, bar, state, what there is to say."""
    share = 1.0 if run.state == "done" else run.epoch / max(run.max_epochs, 1)
    share = min(share, 1.0)
    settings = setting_words(run.learner, run.settings, run.problem.task)
    state = state_color(run.state)
    word = "stopping" if run.state == "running" and run.stop_requested else run.state
    under = f'<small class="quiet">{html.escape(settings)}</small>' if settings else ""
    return (
        '<div class="run">'
        f'<span class="name"><span class="dot" style="background:{color}"></span>'
        f"{html.escape(name)}{under}</span>"
        f'<span class="bar" role="progressbar" aria-label="{html.escape(name, True)}"'
        f' aria-valuenow="{100 * share:.0f}">'
        f'<span style="width:{share:.1%};background:{color}"></span></span>'
        f'<span class="state"><span class="dot" style="background:{state}"></span>'
        f"{word}</span>"
        f'<span class="note">{html.escape(_note(run))}</span></div>'
    )


def _note(run: Run) -> str:
    """Say what matters about a run in its state."""
    if run.state == "queued":
        place = queue().position(run.id)
        return "next in line" if place <= 1 else f"{place - 1} ahead in line"
    if run.state == "running":
        if run.stop_requested:
            return "keeps its best tree so far"
        if not run.max_epochs:
            return f"reading the table, {duration(run.elapsed)}"
        left = run.remaining
        stage = f"{run.stage} · " if run.stage else ""
        share = f"{stage}{run.progress:.0%}"
        return share if left is None else f"{share} · at most {duration(left)} left"
    said = score_words(run) if run.metrics else ""
    if run.learner == CLUSTERS.key:
        said = found_words(run)
    if run.state in ("failed", "interrupted") or not said:
        return run.error
    return f"{said} · {duration(run.elapsed)}"


def best_run(runs: list[Run]) -> Run | None:
    """Return the run with the best test score, None before there is one."""
    return max(_scored(runs), key=score, default=None)


def result_words(runs: list[Run]) -> str:
    """Write one line on what was found, best first; "" while a run goes on."""
    best = best_run(runs)
    if best is None or any(not run.is_finished for run in runs):
        return ""
    names = names_and_colors(runs)
    found = ", ".join(
        f"{plain(names[run.id][0])} {significant(score(run))}"
        for run in sorted(_scored(runs), key=score, reverse=True)
    )
    metric = TITLES[headline(best.problem.task)]
    return f"**{found}** {metric} on {best.metrics['test']['n_rows']:,} test rows"


def _scored(runs: list[Run]) -> list[Run]:
    """Return the runs whose scores compare.

    A model from elsewhere may have been trained on the test rows.
    """
    return [run for run in runs if score(run) is not None and run.learner != IMPORTED]


def growing_tree(run: Run) -> Picture:
    """Return the picture of a run's tree: of its model, or of its newest snapshot."""
    if run.has_model:
        return _picture(default_home(), run.id, None, run)
    try:
        if epochs := store().snapshots(run.id):
            return _picture(default_home(), run.id, epochs[-1], run)
    except LookupError:  # thinned out, or the run deleted, while we looked
        return Picture("its tree is not there any more")
    if run.is_finished:
        return Picture("kept no tree")
    return Picture("its first tree grows")


@st.cache_resource(show_spinner=False, max_entries=128)
def _picture(home: Path, run_id: str, epoch: float | None, _run: Run) -> Picture:
    """Write the tree of an epoch, or of the model where ``epoch`` is None."""
    if epoch is None:
        loaded = load_run(_run)
        split = loaded.split
        if loaded.is_ensemble:
            index, weight = top_estimators(loaded)
            tree = drawn_tree(loaded, int(index[0]))
            place = "all with the same say" if are_equal(weight) else "the heaviest"
            words = f"tree {index[0]} of {loaded.model.n_estimators:,}, {place}"
        else:
            tree = drawn_tree(loaded)
            words = counted(tree.n_leaves, "leaf", "leaves")
    else:
        tree = prune_empty(store().snapshot(run_id, epoch))
        split = rows_for(_run, tree)
        words = f"epoch {epoch:g}"
        if not find_spec(_run.learner).single_tree:
            words += ", the heaviest of its trees"
    payload = tree_payload(
        tree,
        split.X_train,
        split.y_train,
        colors=class_colors_of(split.y_train, _run.problem.task) or None,
    )
    return Picture(words, packed(payload))
