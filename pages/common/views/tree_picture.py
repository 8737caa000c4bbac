"""What the tree viewer shows of a run: one tree, or one a frame, made once and kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun, label_colors
from pages.common.cached.store import store
from pages.common.views.viewer import Packed, packed, tree_viewer
from treelab.evaluation.metrics import TITLES, headline, scores
from treelab.figures.viewer.frames import Frames
from treelab.figures.viewer.payload import tree_payload
from treelab.figures.viewer.rows import RowPath, class_flow
from treelab.runs.jobs.model_facts import ON_TOP
from treelab.trees.pruning.path import PruningPath
from treelab.trees.pruning.simplify import prune_empty
from treelab.trees.text.numerals import shortest
from treelab.trees.tree import Tree


@dataclass(frozen=True)
class Picture:
    """What the viewer draws, and the trees that it draws.

    Attributes
    ----------
    payload : Packed
    trees : tuple of Tree
        One a frame of the payload; a single one where it has no frames.
    chosen : int
        The frame that is shown first.
    """

    payload: Packed
    trees: tuple[Tree, ...]
    chosen: int = 0

    def tree(self, frame: int | None) -> Tree:
        """Return the tree of a frame, or of the first that is shown."""
        at = self.chosen if frame is None else frame
        return self.trees[min(at, len(self.trees) - 1)]


def picture_of(
    loaded: LoadedRun, tree: Tree, what: str | None, part: str = "train"
) -> Picture:
    """Return the picture of one tree of a run.

    Parameters
    ----------
    loaded : LoadedRun
    tree : Tree
    what : str or None
        What the tree is called among the run's trees: caches know it by this name.
        None: it is not worth keeping.
    part : {"train", "valid", "test"}, default="train"
        Rows that the picture counts.
    """
    if what is None:
        return Picture(packed(_payload(loaded, tree, part, None)), (tree,))
    return _picture(*loaded.key, what, part, tree, loaded)


@st.cache_resource(show_spinner=False, max_entries=96)
def _picture(home: Path, run_id, epoch, what, part, _tree: Tree, _loaded) -> Picture:
    payload = _payload(_loaded, _tree, part, None)
    return Picture(packed(payload), (_tree,))


def show_tree(
    loaded: LoadedRun,
    tree: Tree,
    key: str,
    what: str | None,
    *,
    paths: Sequence[RowPath] = (),
    **options,
) -> None:
    """Draw one tree of a run in the viewer, where no node is asked about.

    Parameters
    ----------
    loaded : LoadedRun
    tree : Tree
    key : str
        Names the picture on its page.
    what : str or None
        As in ``picture_of``.
    paths : sequence of RowPath
        Rows that are followed.
    **options
        As in ``tree_viewer``.
    """
    picture = picture_of(loaded, tree, what)
    tree_viewer(
        picture.payload, f"tree-view-{key}-{loaded.run.id}", paths=paths, **options
    )
    st.caption("Rows and bars in the picture: training rows.")


def growth(loaded: LoadedRun, tree: Tree, part: str = "train") -> Picture | None:
    """Return a run's tree over its training; None where it kept too few snapshots.

    Parameters
    ----------
    loaded : LoadedRun
    tree : Tree
        The tree that the run ended with: the last frame.
    """
    epochs = tuple(store().snapshots(loaded.run.id))
    if not epochs:
        return None
    return _growth(*loaded.key, epochs, part, tree, loaded)


@st.cache_resource(show_spinner="Reading how the tree grew…", max_entries=16)
def _growth(
    home: Path, run_id: str, epoch, epochs, part: str, _tree: Tree, _loaded: LoadedRun
) -> Picture | None:
    seen = {}
    for at in epochs:
        try:
            tree = store().snapshot(run_id, at)
        except LookupError:  # thinned out since it was listed
            continue
        seen[at] = prune_empty(tree)
    if not seen:
        return None
    labels = [f"epoch {at:g}" for at in seen]
    values = list(seen)
    trees = list(seen.values())
    if epoch is None:
        values.append(max(values) + 1)
        labels.append("the last tree")
        trees.append(_tree)
    frames = _scored("epoch", "epoch", values, labels, trees, len(trees) - 1, _loaded)
    return _framed(_loaded, trees, frames, part)


def along_path(
    loaded: LoadedRun, trees: tuple[Tree, ...], part: str = "train"
) -> Picture:
    """Return the trees of a pruning path, one a strength."""
    return _along_path(*loaded.key, part, trees, loaded)


@st.cache_resource(show_spinner=False, max_entries=16)
def _along_path(
    home: Path, run_id, epoch, part: str, _trees, _loaded: LoadedRun
) -> Picture:
    path: PruningPath = _loaded.model
    labels = [f"lambda {shortest(s)}" for s in path.strengths]
    task = _loaded.run.problem.task
    X, y = _loaded.split.rows("valid")
    found = [
        scores(task, y, path.predict(X, i))[headline(task)] for i in range(len(path))
    ]
    frames = Frames(
        "lambda",
        "pruning strength (lambda)",
        path.strengths.tolist(),
        labels,
        path.chosen,
        found,
        _score_label(_loaded),
    )
    return _framed(_loaded, list(_trees), frames, part)


def _framed(loaded: LoadedRun, trees: list[Tree], frames: Frames, part: str) -> Picture:
    """Make a picture of frames; some may be left out of it."""
    payload = _payload(loaded, trees, part, frames)
    kept = payload["frames"]
    place = {label: i for i, label in enumerate(frames.labels)}
    shown = tuple(trees[place[label]] for label in kept["labels"])
    return Picture(packed(payload), shown, kept["chosen"])


def _scored(
    kind, name, values, labels, trees, chosen: int, loaded: LoadedRun
) -> Frames:
    """Score each frame's tree on the validation rows."""
    task = loaded.run.problem.task
    X, y = loaded.split.rows("valid")
    found = [scores(task, y, tree.predict(X))[headline(task)] for tree in trees]
    return Frames(kind, name, values, labels, chosen, found, _score_label(loaded))


def _score_label(loaded: LoadedRun) -> str:
    """Name the score of a frame, and the rows behind it."""
    metric = TITLES[headline(loaded.run.problem.task)]
    return f"{metric} · validation, {len(loaded.split.y_valid):,} rows"


def _payload(loaded: LoadedRun, trees, part: str, frames: Frames | None) -> dict:
    """Write trees for the viewer, in the run's colours."""
    return tree_payload(
        trees,
        *loaded.split.rows(part),
        split=part,
        colors=label_colors(loaded) or None,
        frames=frames,
        notes=(ON_TOP,) if loaded.has_predictor else (),
    )


def flow_of(loaded: LoadedRun, tree: Tree, label, part: str = "train") -> dict:
    """Count where the rows of one class go, as the viewer reads it."""
    return class_flow(tree, *loaded.split.rows(part), label)
