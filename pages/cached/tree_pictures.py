"""Pictures of a run's trees and of their prunings."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import streamlit as st

from pages.cached.predictions import top_estimators
from pages.cached.runs import LoadedRun, load_run, rows_for, run_colors, run_tree
from pages.cached.store import size_path_of, store
from treelab.data.split import SPLIT_NAMES
from treelab.evaluation import pruning as pruning_table
from treelab.evaluation.ensembles import are_equal
from treelab.evaluation.metrics import TITLES, headline
from treelab.evaluation.paired_bootstrap import ScoreDifference, paired_bootstrap
from treelab.evaluation.pruning import PruningSteps, is_scored
from treelab.evaluation.splits import headline_scores
from treelab.figures.style import label_colors
from treelab.figures.viewer.payload import Frames, to_json, tree_payload
from treelab.learners.registry import find_spec
from treelab.runs.jobs.fit import fitted_split, without_origin
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import default_home
from treelab.trees.pruning import SizePath
from treelab.trees.pruning_path import shown_tree
from treelab.trees.tree import Tree
from treelab.trees.words import counted, shortest

# Every tree of a run's pruning path with its scores, measured once.


def scored_path_of(loaded: LoadedRun) -> SizePath | None:
    """Return a run's trees by size, where their scores on held-out rows are known."""
    path = None if loaded.epoch is not None else size_path_of(loaded.run)
    return path if path is not None and is_scored(path) else None


def pruning_steps(loaded: LoadedRun, tree_alone: bool = False) -> PruningSteps:
    """Return every tree of a run's pruning path with its scores.

    With ``tree_alone`` a tree predicts by its leaves, not by the predictor on top.
    """
    return _pruning_steps(*loaded.key, tree_alone, loaded)


@st.cache_resource(show_spinner="Measuring every tree on the path…", max_entries=16)
def _pruning_steps(
    home: Path, run_id: str, epoch, tree_alone: bool, _loaded
) -> PruningSteps:
    """``pruning_steps``, by values that name them."""
    steps = pruning_table.pruning_steps(
        _loaded.model,
        scored_path_of(_loaded),
        _loaded.split,
        _loaded.fitted_split,
        has_labels=_loaded.has_labels,
        tree_alone=tree_alone,
    )
    return replace(steps, is_by_hand="pruned_from" in _loaded.run.summary)


def step_predictions(
    loaded: LoadedRun, steps: PruningSteps, step: int, tree_alone: bool
) -> np.ndarray:
    """Return the predictions of one tree of the path for the test rows."""
    return _predictions(*loaded.key, tree_alone, step, loaded, steps)


@st.cache_resource(show_spinner=False, max_entries=48)
def _predictions(home: Path, run_id: str, epoch, tree_alone, step, _loaded, _steps):
    """``step_predictions``, by values that name them."""
    return pruning_table.step_predictions(
        _loaded.model, _steps, step, _loaded.split.X_test, tree_alone=tree_alone
    )


def step_differences(
    loaded: LoadedRun, steps: PruningSteps, first: int, second: int, tree_alone: bool
) -> dict[str, ScoreDifference]:
    """Return how the test scores of a second tree of the path differ from a first's."""
    return _differences(*loaded.key, tree_alone, first, second, loaded, steps)


@st.cache_data(show_spinner="Resampling the test rows…", max_entries=48)
def _differences(
    home: Path, run_id: str, epoch, tree_alone, first, second, _loaded, _steps
) -> dict[str, ScoreDifference]:
    """``step_differences``, by values that name them."""
    return paired_bootstrap(
        _loaded.run.problem.task,
        _loaded.split.y_test.to_numpy(),
        *(
            step_predictions(_loaded, _steps, step, tree_alone)
            for step in (first, second)
        ),
        _loaded.split.rows("test").weight,
    )


# What the tree viewer shows of a run: one tree, or a tree a frame, made once.


_SCRUBBER = 70  # pixels, with the marks below it
# Of each kind of path: the scrubber's name, and what is written beside it.
_STRENGTHS = {
    "lambda": ("λ", "λ {0}, {1}"),
    "leaves": ("Leaves", "{1}"),
    "alpha": ("Leaves", "{1}"),
}
_SCORED_BY = {  # a column of the path's table, and its rows
    "lambda": ("valid_score", "valid"),
    "leaves": ("held_out_score", "held out"),
    "alpha": ("test_score", "test"),
}


@dataclass(frozen=True)
class ViewerPayload:
    """A payload, written once, so that it need not be written at each rerun.

    Attributes
    ----------
    text : str
        As JSON.
    scrubber : int
        Pixels of the scrubber above the picture.
    legend : int
        Letters of the legend, with its gaps.
    notes : tuple of int
        Letters of each sentence below the first tree.
    """

    text: str
    scrubber: int
    legend: int
    notes: tuple[int, ...]


@dataclass(frozen=True)
class TreePicture:
    """What the viewer draws, and the trees that it draws.

    Attributes
    ----------
    payload : ViewerPayload
    trees : tuple of Tree
        One a frame of the payload; a single one where it has no frames.
    chosen : int
        The frame that is shown first.
    steps : tuple of int
        The step of the path that each frame is.
    """

    payload: ViewerPayload
    trees: tuple[Tree, ...]
    chosen: int = 0
    steps: tuple[int, ...] = ()

    def tree(self, frame: int | None = None) -> Tree:
        """Return the tree of a frame, or of the one that is shown first."""
        at = self.chosen if frame is None else frame
        return self.trees[min(at, len(self.trees) - 1)]


def viewer_payload(payload: dict) -> ViewerPayload:
    """Write a payload, and measure what stands below its picture."""
    names = [entry["label"] for entry in payload["classes"]]
    names = names or [payload["target"]["name"], "a scale and its two ends"]
    return ViewerPayload(
        to_json(payload),
        _SCRUBBER if payload["frames"]["kind"] else 0,
        sum(len(name) + 6 for name in names),
        tuple(len(note) for note in payload["trees"][0]["notes"]),
    )


def tree_picture(
    loaded: LoadedRun, tree: Tree, name: str | None, split: str = "fitted"
) -> TreePicture:
    """Return the picture of one tree of a run.

    Parameters
    ----------
    loaded : LoadedRun
    tree : Tree
    name : str or None
        What the tree is called among the run's trees: caches know it by this name.
        None: it is not cached.
    split : str, default="fitted"
        Rows that the picture counts.
    """
    if name is None:
        return TreePicture(_payload(loaded, tree, split), (tree,))
    return _tree_picture(*loaded.key, name, split, tree, loaded)


def sketch(loaded: LoadedRun, tree: Tree, name: str) -> ViewerPayload:
    """Return what a small picture of one tree needs, no histograms and no notes.

    ``name`` is what the tree is called among the run's trees, as in ``tree_picture``.
    """
    return _sketch(*loaded.key, name, tree, loaded)


@st.cache_resource(show_spinner=False, max_entries=96)
def _sketch(home: Path, run_id, epoch, name, _tree: Tree, _loaded) -> ViewerPayload:
    """``sketch``, by values that name it."""
    return viewer_payload(
        tree_payload(
            replace(_tree, notes=()),
            split=_loaded.fitted_split,
            colors=run_colors(_loaded) or None,
        )
    )


@st.cache_resource(show_spinner=False, max_entries=96)
def _tree_picture(
    home: Path, run_id, epoch, name, split, _tree: Tree, _loaded
) -> TreePicture:
    """``tree_picture``, by values that name it."""
    return TreePicture(_payload(_loaded, _tree, split), (_tree,))


def training_picture(
    loaded: LoadedRun, tree: Tree, split: str = "fitted"
) -> TreePicture | None:
    """Return a run's trees during its training; None where it saved no snapshot.

    Parameters
    ----------
    loaded : LoadedRun
    tree : Tree
        The tree that the run ended with: the last frame.
    split : str, default="fitted"
        Rows that the picture counts.
    """
    epochs = tuple(store().snapshots(loaded.run.id))
    if not epochs:
        return None
    return _training_picture(*loaded.key, epochs, split, tree, loaded)


@st.cache_resource(show_spinner="Reading the snapshots…", max_entries=16)
def _training_picture(
    home: Path, run_id: str, epoch, epochs, split: str, _tree: Tree, _loaded: LoadedRun
) -> TreePicture | None:
    """``training_picture``, by values that name it."""
    found = {}
    for at in epochs:
        try:
            found[at] = shown_tree(store().snapshot(run_id, at))
        except LookupError:  # thinned out since it was listed
            continue
    if not found:
        return None
    values, trees = list(found), list(found.values())
    labels = [f"epoch {round(at, 1):g}" if at > 0 else "start" for at in values]
    if epoch is None:
        values.append(max(values) + 1)
        labels.append("final tree")
        trees.append(_tree)
    scores, scored = None, "valid"
    if _loaded.has_labels:
        if _loaded.fitted_split != "train":  # then no row is held out but for testing
            scored = _loaded.fitted_split
        rows = _loaded.rows(scored)
        scores = headline_scores(trees, _loaded.run.problem.task, *rows)
    frames = Frames(
        "epoch",
        "epoch",
        values,
        labels,
        len(trees) - 1,
        scores,
        _score_label(_loaded, scored),
    )
    return _framed_picture(_loaded, trees, frames, split)


def path_picture(
    loaded: LoadedRun, steps: PruningSteps, split: str = "fitted"
) -> TreePicture:
    """Return the trees of a pruning path, a frame a step."""
    return _path_picture(*loaded.key, split, steps, loaded)


@st.cache_resource(show_spinner="Writing every tree on the path…", max_entries=16)
def _path_picture(
    home: Path, run_id, epoch, split: str, _steps: PruningSteps, _loaded: LoadedRun
) -> TreePicture:
    """``path_picture``, by values that name it."""
    score, rows = _SCORED_BY[_steps.kind]
    scores = _steps.table.get(score)
    strengths = _steps.table["strength"].tolist()
    name, label = _STRENGTHS[_steps.kind]
    leaves = [counted(int(n), "leaf", "leaves") for n in _steps.table["leaves"]]
    all_steps = Frames(
        _steps.kind,
        name,
        strengths,
        [label.format(shortest(s), size) for s, size in zip(strengths, leaves)],
        _steps.own,
        None if scores is None else scores.tolist(),
        _score_label(_loaded, rows),
    )
    order = range(len(strengths))
    if _steps.kind != "lambda":  # leaves grow to the right, as lambda does
        order = order[::-1]
    marks = [(order.index(i), words) for i, words in _steps.marks.items()]
    frames = replace(all_steps.take(order), marks=marks)
    trees = [_steps.trees[i] for i in order]
    picture = _framed_picture(_loaded, trees, frames, split)
    return replace(picture, steps=tuple(order[i] for i in picture.steps))


def _framed_picture(
    loaded: LoadedRun, trees: list[Tree], frames: Frames, split: str
) -> TreePicture:
    """Make a picture of frames; some may be left out of it."""
    payload = _plain_payload(loaded, trees, split, frames)
    shown = payload["frames"]
    places = tuple(frames.labels.index(label) for label in shown["labels"])
    left = tuple(trees[i] for i in places)
    return TreePicture(viewer_payload(payload), left, shown["chosen"], places)


def _score_label(loaded: LoadedRun, split: str) -> str:
    """Name the score of a frame, and the rows behind it."""
    metric = TITLES[headline(loaded.run.problem.task)]
    if split == "held out":
        return f"{metric} · held-out rows"
    n_rows = f"{loaded.n_rows(split):,} rows"
    if split in ("valid", "test"):
        return f"{metric} · {SPLIT_NAMES[split]}, {n_rows}"
    return f"{metric} · {n_rows} it was fitted to"


def _payload(loaded: LoadedRun, tree: Tree, split: str) -> ViewerPayload:
    """Write one tree for the viewer, in the run's colours."""
    return viewer_payload(_plain_payload(loaded, tree, split, None))


def _plain_payload(
    loaded: LoadedRun, trees: Tree | list[Tree], split: str, frames: Frames | None
) -> dict:
    """Return the payload of some trees, in the run's colours.

    The origin is not among its notes: pages show it in words of their own.
    """
    several = [trees] if isinstance(trees, Tree) else trees
    if split == "fitted":
        split = loaded.fitted_split
    return tree_payload(
        [without_origin(tree, loaded.run.provenance) for tree in several],
        *loaded.rows(split),
        split=split,
        colors=run_colors(loaded) or None,
        frames=frames,
    )


# A run's tree as it stands now: of its model, or of its newest snapshot.


@dataclass(frozen=True)
class LiveTree:
    """A tree as it stands, where there is one yet, and words for it."""

    words: str
    payload: ViewerPayload | None = None


def tree_epoch(run: Run) -> float | None:
    """Return the epoch of a run's newest tree, None for its model's or no tree."""
    if run.has_model:
        return None
    try:
        return max(store().snapshots(run.id), default=None)
    except LookupError:  # deleted meanwhile
        return None


def has_tree(run: Run) -> bool:
    """Whether a run has a model, or a tree of some epoch."""
    return run.has_model or tree_epoch(run) is not None


def live_tree(run: Run) -> LiveTree:
    """Return the picture of a run's tree: of its model, or of its newest snapshot."""
    if run.has_model:
        return _live_tree(default_home(), run.id, None, run)
    try:
        if epochs := store().snapshots(run.id):
            return _live_tree(default_home(), run.id, epochs[-1], run)
    except LookupError:  # thinned out, or the run deleted, meanwhile
        return LiveTree("its tree was deleted")
    return LiveTree("no tree saved" if run.is_finished else "no tree yet")


@st.cache_resource(show_spinner=False, max_entries=128)
def _live_tree(home: Path, run_id: str, epoch: float | None, _run: Run) -> LiveTree:
    """Write the tree of an epoch, or of the model where ``epoch`` is None."""
    tree, split, words = _model_tree(_run) if epoch is None else _snapshot(_run, epoch)
    colors = None
    if tree.classes is not None:
        colors = label_colors(split.y_train, tree.classes)
    shown = without_origin(tree, _run.provenance)  # beside the picture
    fitted = fitted_split(tree, split)
    payload = tree_payload(shown, *split.rows(fitted), split=fitted, colors=colors)
    return LiveTree(words, viewer_payload(payload))


def _model_tree(run: Run) -> tuple:
    """Return the tree of a run's model, its rows, and words for it."""
    loaded = load_run(run)
    if not loaded.is_ensemble:
        tree = run_tree(loaded)
        return tree, loaded.split, counted(tree.n_leaves, "leaf", "leaves")
    index, weight = top_estimators(loaded)
    which = "all of equal weight" if are_equal(weight) else "the highest weight"
    words = f"tree {index[0]} of {loaded.model.n_estimators:,}, {which}"
    return run_tree(loaded, int(index[0])), loaded.split, words


def _snapshot(run: Run, epoch: float) -> tuple:
    """Return a run's tree of an epoch, its rows, and words for it."""
    tree: Tree = shown_tree(store().snapshot(run.id, epoch))
    words = f"epoch {round(epoch, 1):g}" if epoch > 0 else "its start"
    spec = find_spec(run.learner)
    if spec is not None and not spec.single_tree:
        words += ", the tree of highest weight"
    return tree, rows_for(run, tree), words
