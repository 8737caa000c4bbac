"""The trees that score like a run's own, and what they predict, computed once."""

import numpy as np
import pandas as pd

from pages.cached.runs import LoadedRun, run_tree, shared, size_path_of
from pages.cached.store import store, table
from treelab.evaluation.fairness import groups_of
from treelab.evaluation.rashomon import likeness, places, predictions
from treelab.runs.jobs.fit import rashomon_set, why_no_others
from treelab.trees.cells import holds_times
from treelab.trees.pruning_path import PruningPath, shown_tree
from treelab.trees.rashomon import RashomonSet

NEAR = 0.1  # standard deviations of the target: values that differ less are alike
DEFAULT_TOLERANCE = 0.01


@shared(16, "Scoring the other trees…")
def trees_like(loaded: LoadedRun) -> RashomonSet | None:
    """Return the trees near a run's own; None where no other tree compares with it."""
    if loaded.is_ensemble or not loaded.has_labels or loaded.epoch is not None:
        return None
    if loaded.output:  # its splits were chosen for several
        return None
    stored = store().rashomon(loaded.run.id)
    if stored is not None:
        return stored
    own = run_tree(loaded)
    if why_no_others(own):
        return None
    others = []
    if isinstance(loaded.model, PruningPath):
        others = [shown_tree(tree) for tree in loaded.model.trees]
    path = size_path_of(loaded.run)
    return rashomon_set(loaded.run, own, others, loaded.rows("fitted"), path)


def stored_trees(loaded: LoadedRun) -> RashomonSet | None:
    """Return the trees that were stored with a run; None where none were."""
    if not (store().folder(loaded.run.id) / "rashomon").is_dir():
        return None
    return trees_like(loaded)


@shared(16, "Predicting with every tree…")
def tree_predictions(
    loaded: LoadedRun, split: str
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return what each tree of the set predicts for a data split; never changed.

    Class codes, or values around 0, (T, n_rows); and of two classes the second's
    probability.
    """
    predicted, value = predictions(trees_like(loaded).trees, loaded.rows(split).X)
    if loaded.model.classes is None:
        return (predicted - predicted.mean()).astype(np.float32), None
    is_binary = value.shape[-1] == 2
    chance = value[..., 1].astype(np.float32) if is_binary else None
    return predicted.astype(np.int16), chance


@shared(32)
def map_of(loaded: LoadedRun, chosen: tuple[int, ...]) -> np.ndarray:
    """Return where some trees of the set lie on the map of likeness, (n, 2)."""
    predicted, _ = tree_predictions(loaded, "fitted")
    n_classes = len(loaded.model.classes or ())
    return places(likeness(predicted[list(chosen)], n_classes))


def near_value(loaded: LoadedRun) -> float:
    """Return by how much two values may differ to be alike; 0 for classes."""
    if loaded.model.classes is not None:
        return 0.0
    return NEAR * float(loaded.split.y_train.std(ddof=0))


@shared(16)
def group_rows(loaded: LoadedRun, column: str, split: str) -> pd.Series:
    """Return the group of each row of a data split, by any column of its table."""
    frame = table(loaded.run.problem.table_id)
    groups = groups_of(frame[column], of_times=holds_times(frame, column))
    return groups[loaded.rows(split).X.index]
