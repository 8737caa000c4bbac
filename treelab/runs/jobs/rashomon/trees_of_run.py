"""The Rashomon set of a run: what its training left, scored on the rows it learnt."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from treelab.editing.regrow import class_weights
from treelab.evaluation.rashomon import gather
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.trees.constraints import Constraints, violations
from treelab.trees.pruning import SizePath
from treelab.trees.rashomon import RashomonSet
from treelab.trees.tree import Tree


def asked_of(store: RunStore, run: Run) -> tuple[dict[str, Any], Run, Any]:
    """Return what a run is to look at, the run of the first tree, and its model.

    Raises
    ------
    ValueError
        If the first run is gone.
    """
    asked = json.loads(store.more(run.id) or "{}")
    try:
        parent = store.run(asked["run"])
        return asked, parent, store.model(parent.id)
    except LookupError as error:
        raise ValueError(f"The run of the first tree is gone. {error}") from error


def rashomon_set(
    run: Run,
    own: Tree,
    others: Sequence[Tree],
    rows: tuple[pd.DataFrame, Any],
    path: SizePath | None,
) -> RashomonSet:
    """Return the trees near a run's own that keep the run's constraints.

    Parameters
    ----------
    run : Run
    own : Tree
        The run's tree.
    others : sequence of Tree
        What else its training left; the trees of the path are looked at as well.
    rows : (X, y)
        That they were trained on.
    path : SizePath or None
        The run's trees by size.
    """
    trees = [*others, *(() if path is None else path.trees)]
    return gather(
        own,
        trees,
        rows,
        class_weights(own),
        path,
        keeps=keeps_constraints(run),
    )


def keeps_constraints(run: Run) -> Callable[[Tree], bool]:
    """Return what says whether a tree keeps a run's constraints."""
    constraints = Constraints.read(run.settings.get("constraints"))
    return lambda tree: not violations(tree, constraints)


def can_be_chosen_from(tree: Tree) -> bool:
    """Whether other trees compare with a run's: it splits, its leaves are constant."""
    return bool(tree.n_splits) and tree.leaf_weights is None
