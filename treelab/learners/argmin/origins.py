"""Origins: what became of each strength's tree, from its first splits on."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treelab.learners.argmin.fit import TrainedPath
from treelab.learners.common.base import TrainingData
from treelab.learners.common.origin import (
    Origin,
    changed_splits,
    feature_spread,
    with_origin,
)
from treelab.trees.pruning.path import PruningPath
from treelab.trees.pruning.shown_tree import shown_tree
from treelab.trees.tree import Tree

SIMPLER = "leaving out columns and empty splits"


def with_origins(
    path: PruningPath,
    starts: Sequence[Tree],
    trained: TrainedPath,
    *,
    start: str,
    matrix: np.ndarray,
    held_out: str,
) -> tuple[PruningPath, Origin]:
    """Return the path with an origin noted on every tree, and that of the chosen one.

    Counted are the splits that are shown: those that part training rows.

    Parameters
    ----------
    path : PruningPath
    starts : sequence of Tree
        As the trees were before the first step.
    trained : TrainedPath
    start : str
        A key of ``origin.STARTS``.
    matrix : ndarray of shape (n_rows, n_features)
        Features of the training rows, in their units.
    held_out : str
        What was held out.
    """
    spread = feature_spread([*matrix.T])
    origins = [
        Origin(
            start,
            trained=trained.is_trained,
            n_splits=tree.n_splits,
            n_changed=changed_splits(first, tree, spread) if trained.is_trained else 0,
            later=(SIMPLER,) * bool(simplified),
            held_out=held_out,
        )
        for first, tree, simplified in zip(
            map(shown_tree, starts), map(shown_tree, path.trees), trained.simplified
        )
    ]
    trees = [with_origin(tree, origin) for tree, origin in zip(path.trees, origins)]
    return replace(path, trees=tuple(trees)), origins[path.chosen]


def held_out_words(data: TrainingData) -> str:
    """Say which rows chose the strength, the epoch and the columns."""
    return "a fifth of the rows" if data.held_out else "validation rows"
