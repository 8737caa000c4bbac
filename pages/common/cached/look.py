"""What the Look pages read: a run's model, its rows, its answers, kept per run."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st

from pages.common.cached import store as door
from treelab.data.problem import Split
from treelab.evaluation.metrics import headline, scores
from treelab.evaluation.paired import Difference, score_differences
from treelab.evaluation.pruned_scores import pruned_depths, pruned_scores
from treelab.figures.colors import class_colors
from treelab.runs.jobs.model_facts import ON_TOP
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import default_home
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.pruning.path import PruningPath
from treelab.trees.pruning.simplify import cost_complexity_path, prune_empty
from treelab.trees.text.rules import to_rules
from treelab.trees.tree import Tree

PARTS = ("test", "valid", "train")
_HEAVIEST = 24  # trees of an ensemble that a page offers


@dataclass(frozen=True)
class View:
    """A run and what it learned, as one page shows it.

    Attributes
    ----------
    run : Run
    model : Tree, WeightedTrees or PruningPath
        A training run's newest snapshot while there is no model yet.
    split : Split
        The run's rows.
    epoch : float or None
        Epoch of the snapshot; None for a model.
    """

    run: Run
    model: Tree | WeightedTrees | PruningPath
    split: Split
    epoch: float | None = None

    @property
    def key(self) -> tuple[Path, str, float | None]:
        """What caches know the view by."""
        return default_home(), self.run.id, self.epoch

    @property
    def has_labels(self) -> bool:
        """Whether anything but the model itself says what is right."""
        return not self.run.problem.origin

    @property
    def is_ensemble(self) -> bool:
        """Whether many trees answer together."""
        return isinstance(self.model, WeightedTrees)

    @property
    def on_top(self) -> bool:
        """Whether a predictor answers from the tree's routing."""
        return (
            isinstance(self.model, PruningPath)
            and self.model.predictors[self.model.chosen] is not None
        )


def open_run(run: Run) -> View:
    """Return a run with its model, or with its newest snapshot while it trains.

    Raises
    ------
    LookupError, OSError, ValueError
        If the model, or the table it was trained on, is gone or cannot be read.
    """
    if run.has_model:
        return View(run, door.model(run), door.split(run))
    for epoch in reversed(door.store().snapshots(run.id)):
        try:
            tree = door.store().snapshot(run.id, epoch)
        except LookupError:  # thinned out since it was listed; an older one stays
            continue
        return View(run, tree, rows_for(run, tree), epoch)
    raise LookupError(f"The run {run.title!r} ({run.state}) has no tree yet.")


def rows_for(run: Run, tree: Tree) -> Split:
    """Return a run's rows; until clusters are found, they are those of this tree."""
    problem = run.problem
    if not problem.awaits_clusters:
        return door.split(run)
    frame = door.table(problem.table_id)
    clusters = tree.predict(problem.table(frame))
    return problem.split(frame.assign(**{problem.target: clusters}))


def full_tree(view: View, estimator: int | None = None, strength: int | None = None):
    """Return the tree as it routes any row, branches without training rows included.

    Parameters
    ----------
    estimator : int or None
        Which tree of an ensemble.
    strength : int or None
        Which tree of a pruning path; None: the chosen one.
    """
    if isinstance(view.model, WeightedTrees):
        return _estimator(*view.key, estimator, view)
    if isinstance(view.model, PruningPath):
        i = view.model.chosen if strength is None else strength
        return view.model.trees[i]
    return view.model


def whole_tree(view: View, estimator: int | None = None) -> Tree:
    """Return ``full_tree``, with a note where a predictor on top gives the answers."""
    tree = full_tree(view, estimator)
    return replace(tree, notes=(*tree.notes, ON_TOP)) if view.on_top else tree


def drawn_tree(
    view: View, estimator: int | None = None, strength: int | None = None
) -> Tree:
    """Return the tree that a picture shows: no branch that no training row takes."""
    return _drawn(*view.key, estimator, strength, False, view)


def routed_tree(
    view: View,
    estimator: int | None = None,
    strength: int | None = None,
    row: pd.DataFrame | None = None,
) -> Tree:
    """Return the tree in which every row of the table goes as in the model.

    A branch without training rows stays where another row of the table, or the ``row``
    that is given, takes it. Counts are those of the training rows.
    """
    if row is None:
        return _drawn(*view.key, estimator, strength, True, view)
    full = full_tree(view, estimator, strength)
    passed = _passed(*view.key, estimator, strength, view)
    if (passed[full.path(row)] > 0).all():
        return _drawn(*view.key, estimator, strength, True, view)
    return _without_empty(view, full, passed + full.node_counts(row))


@st.cache_resource(show_spinner=False, max_entries=256)
def _drawn(home: Path, run_id, epoch, estimator, strength, all_rows, _view) -> Tree:
    full = full_tree(_view, estimator, strength)
    if all_rows:
        passed = _passed(home, run_id, epoch, estimator, strength, _view)
    else:
        passed = full.n_rows
        if passed[0] == 0:
            passed = full.node_counts(_view.split.X_train)
    return _without_empty(_view, full, passed)


@st.cache_resource(show_spinner=False, max_entries=256)
def _passed(home: Path, run_id, epoch, estimator, strength, _view) -> np.ndarray:
    full = full_tree(_view, estimator, strength)
    return sum(full.node_counts(_view.split.rows(part)[0]) for part in PARTS)


def _without_empty(view: View, full: Tree, passed: np.ndarray) -> Tree:
    """Drop the branches that none of the rows that ``passed`` counts takes."""
    if (passed > 0).all() and full.n_rows[0] > 0:
        return full
    kept = prune_empty(replace(full, n_rows=passed))
    return kept.with_rows(view.split.X_train, view.split.y_train)


def label_colors(view: View) -> dict:
    """Return a hex colour for each class, the most frequent in training first."""
    if view.model.classes is None:
        return {}
    seen = view.split.y_train.value_counts()
    ranked = sorted(view.model.classes, key=lambda label: -seen.get(label, 0))
    return dict(zip(ranked, class_colors(len(ranked))))


def ranked_classes(view: View) -> list:
    """Return the classes, the most frequent in training first."""
    return list(label_colors(view))


@st.cache_resource(show_spinner="Sending the rows down the tree…", max_entries=64)
def _estimator(home: Path, run_id: str, epoch, estimator: int, _view: View) -> Tree:
    # Without row counts no branch is dropped, so the tree routes as the ensemble does.
    bare = replace(_view.model, n_rows=None).estimator(estimator)
    return bare.with_rows(_view.split.X_train, _view.split.y_train)


def answers(view: View, part: str) -> np.ndarray:
    """Return the run's answers for its rows of one part, (n_rows,); never changed."""
    return _answers(*view.key, part, view)


@st.cache_resource(show_spinner=False, max_entries=48)
def _answers(home: Path, run_id: str, epoch, part: str, _view: View) -> np.ndarray:
    return _view.model.predict(_view.split.rows(part)[0])


def part_scores(view: View, part: str) -> dict[str, float]:
    """Return the scores on one part, as the run kept them, or measured now."""
    kept = (view.run.metrics or {}).get(part)
    return kept or _part_scores(*view.key, part, view)


@st.cache_data(show_spinner=False, max_entries=48)
def _part_scores(home: Path, run_id: str, epoch, part: str, _view: View) -> dict:
    truth = _view.split.rows(part)[1]
    return scores(_view.run.problem.task, truth, answers(_view, part))


def score_alone(view: View, part: str) -> float:
    """Return what the drawn tree scores by its leaves, with no predictor on top."""
    task = view.run.problem.task
    X, truth = view.split.rows(part)
    return scores(task, truth, drawn_tree(view).predict(X))[headline(task)]


def rules(view: View, estimator: int | None = None) -> pd.DataFrame:
    """Return the drawn tree as rules, one a leaf."""
    return _rules(*view.key, estimator, view)


@st.cache_data(show_spinner=False, max_entries=32)
def _rules(home: Path, run_id: str, epoch, estimator, _view: View) -> pd.DataFrame:
    return to_rules(drawn_tree(_view, estimator))


def heaviest_estimators(view: View) -> tuple[np.ndarray, np.ndarray]:
    """Return an ensemble's trees with the most say on the test rows, and that say.

    Returns
    -------
    index : int array of shape (k,)
        Heaviest first.
    weight : float array of shape (k,)
        Mean share of the answers, in [0, 1].
    """
    return _heaviest(*view.key, view)


def same_say(weight: np.ndarray) -> bool:
    """Whether trees with these mean shares of the answers all count alike."""
    return bool(np.ptp(weight) <= 1e-9)


@st.cache_resource(show_spinner="Weighing the trees…", max_entries=16)
def _heaviest(home: Path, run_id: str, epoch, _view: View):
    mean = np.zeros(_view.model.n_estimators)
    rows = _view.split.X_test
    for start in range(0, len(rows), 2_000):  # weights of all rows at once are large
        mean += _view.model.estimator_weights(rows[start : start + 2_000]).sum(axis=0)
    mean /= max(len(rows), 1)
    index = np.argsort(-mean, kind="stable")[:_HEAVIEST]
    return index, mean[index]


@dataclass(frozen=True)
class Steps:
    """A pruning path made ready: each tree that is drawn, and a table of scores.

    Attributes
    ----------
    trees : sequence of Tree
        As they are drawn; some are made only when they are asked for.
    table : DataFrame
        A row a step: strength, valid_score and test_score, or valid_loss where no
        labels are known, leaves and other sizes.
    chosen : int or None
        The step that training chose.
    """

    trees: Sequence[Tree]
    table: pd.DataFrame
    chosen: int | None


def pruning_steps(view: View, alone: bool = False) -> Steps:
    """Return every tree of a run's pruning path with its scores.

    With ``alone`` a tree answers by its leaves, not by the predictor on top of it.
    """
    return _pruning_steps(*view.key, alone, view)


@st.cache_resource(show_spinner="Measuring every tree on the path…", max_entries=8)
def _pruning_steps(home: Path, run_id: str, epoch, alone: bool, _view: View) -> Steps:
    if isinstance(_view.model, PruningPath):
        return _trained_steps(_view, alone)
    return _greedy_steps(_view)


def _trained_steps(view: View, alone: bool) -> Steps:
    """Steps of a path whose strengths were trained together."""
    path, task = view.model, view.run.problem.task
    trees = tuple(drawn_tree(view, strength=i) for i in range(len(path)))
    table = pd.DataFrame({"strength": path.strengths})
    if view.has_labels:
        for part in ("valid", "test"):
            X, y = view.split.rows(part)
            table[f"{part}_score"] = [
                scores(task, y, tree.predict(X) if alone else path.predict(X, i))[
                    headline(task)
                ]
                for i, tree in enumerate(trees)
            ]
    else:  # a score would hold the clusters against themselves
        table["valid_loss"] = path.scores["valid_loss"].to_numpy()
    table["leaves"] = [tree.n_leaves for tree in trees]
    table["active_splits"] = [tree.n_splits for tree in trees]
    table["empty_nodes"] = path.scores.get("empty_nodes", np.nan)
    if "purity" in path.scores:  # of clusters, by labels that no split saw
        table["purity"] = path.scores["purity"].to_numpy()
    return Steps(trees, table, path.chosen)


def _greedy_steps(view: View) -> Steps:
    """Steps of cost-complexity pruning, from the tree as trained to its root."""
    tree = view.model
    if tree.n_rows[0] == 0 or np.isnan(tree.impurity).any():
        tree = tree.with_rows(view.split.X_train, view.split.y_train)
    path = cost_complexity_path(tree)
    table = pd.DataFrame({"strength": path.alphas})
    for part in ("valid", "test"):
        table[f"{part}_score"] = pruned_scores(path, *view.split.rows(part))
    table["leaves"] = path.n_leaves
    table["depth"] = pruned_depths(path)
    return Steps(path.trees, table, None)


def comparable(one: Run, other: Run) -> bool:
    """Whether two runs were tested on the same rows of the same target.

    Clusters that a run found itself are no truth to test by.
    """
    return not one.problem.origin and _test_rows(one) == _test_rows(other)


def _test_rows(run: Run) -> tuple:
    """What decides on which rows, and against which truth, a run is tested."""
    problem = run.problem
    return (
        problem.table_id,
        problem.target,
        problem.task,
        problem.seed,
        problem.valid_share,
        problem.test_share,
    )


def score_gains(first: View, second: View) -> dict[str, Difference]:
    """Return how the second run's scores differ from the first's, on the test rows."""
    return _score_gains(*first.key, *second.key[1:], first, second)


@st.cache_data(show_spinner="Drawing the test rows anew…", max_entries=32)
def _score_gains(home: Path, one, epoch, other, other_epoch, _first, _second) -> dict:
    return score_differences(
        _first.run.problem.task,
        _first.split.y_test.to_numpy(),
        answers(_first, "test"),
        answers(_second, "test"),
    )
