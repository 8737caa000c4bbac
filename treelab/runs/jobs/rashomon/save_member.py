"""A tree that was chosen among those that score alike becomes a run of its own."""

from dataclasses import replace

import numpy as np

from treelab.runs.jobs.derived import save_derived, with_origin_of
from treelab.runs.jobs.model_facts import without_origin
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.trees.rashomon import RashomonSet
from treelab.trees.tree import Tree
from treelab.trees.words import counted, shortest


def save_member(
    store: RunStore, run: Run, trees: RashomonSet, place: int, tolerance: float
) -> str:
    """Save a tree of a run's Rashomon set as a run that is done; return its id.

    The same tree again is the same run, and the run's own tree is the run.

    Parameters
    ----------
    store : RunStore
    run : Run
    trees : RashomonSet
        Of the run.
    place : int
        Of the tree in the set.
    tolerance : float
        Within which the visitor looked.
    """
    run, trees = _first(store, run, trees)
    if place == trees.chosen:
        return run.id
    tree = trees.trees[place]
    for known in store.runs():
        if known.summary.get("chosen_from") == run.id:
            model = store.model(known.id)
            if isinstance(model, Tree) and same_tree(model, tree):
                return known.id
    n_trees = len(trees.within(tolerance))
    sentence = (
        f"One of {n_trees} trees within {shortest(tolerance)} of the tree of "
        f"“{run.title}”, or better, chosen by hand."
    )
    sentence = with_origin_of(sentence, run)
    tree = without_origin(tree, run.provenance)
    size = counted(tree.n_leaves, "leaf", "leaves")
    own = replace(trees, chosen=place)
    return save_derived(
        store,
        run,
        replace(tree, notes=(sentence, *tree.notes)),
        f"{run.short_title}, tree {place + 1} of {n_trees}: {size}",
        [sentence],
        {"chosen_from": run.id},
        add=lambda run_id: store.add_rashomon(run_id, own),
    )


def _first(store: RunStore, run: Run, trees: RashomonSet) -> tuple[Run, RashomonSet]:
    """Return the run from whose set a chosen tree's run is, where both are left."""
    try:
        first = store.run(run.summary.get("chosen_from", ""))
    except LookupError:
        return run, trees
    known = store.rashomon(first.id)
    if known is None or len(known) != len(trees):
        return run, trees
    return first, known


def same_tree(one: Tree, other: Tree) -> bool:
    """Whether two trees have the same splits and leaves."""
    names = ("left", "right", "feature", "threshold", "missing_left", "value")
    pairs = [(getattr(one, name), getattr(other, name)) for name in names]
    return all(
        a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        for a, b in pairs
    )
