"""Trees that score like a run's own: more of them, one of them chosen."""

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treelab.editing.regrow import class_weights
from treelab.evaluation.comparison import trained_costs
from treelab.evaluation.rashomon_enumeration import all_trees
from treelab.learners.common.origin import Origin, with_origin
from treelab.runs.jobs.derived import save_derived
from treelab.runs.jobs.fit import (
    Fitted,
    first_of,
    fit_rows,
    fitted_split,
    rashomon_set,
    run_estimator,
    without_origin,
)
from treelab.runs.store.database import StoreError
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore, create_like
from treelab.training.events import Callback
from treelab.trees.constraints import violations
from treelab.trees.pruning_path import shown_tree
from treelab.trees.rashomon import RashomonSet
from treelab.trees.tree import Tree
from treelab.trees.words import counted, shortest


def save_member(
    store: RunStore, run: Run, trees: RashomonSet, place: int, tolerance: float
) -> str:
    """Save a tree of a run's Rashomon set as a run that is done; return its id.

    The same tree again is the same run, and the run's own tree is the run. The tree
    stands at a place of the set, in which the visitor looked within a tolerance.
    """
    run, trees = _first(store, run, trees)
    if place == trees.chosen:
        return run.id
    tree = trees.trees[place]
    n_trees = len(trees.within(tolerance))
    sentence = (
        f"One of {n_trees} trees within {shortest(tolerance)} of the tree of "
        f"“{run.title}”, or better, chosen by hand."
    )
    size = counted(tree.n_leaves, "leaf", "leaves")
    return save_derived(
        store,
        run,
        tree,
        f"{run.short_title}, tree {place + 1} of {n_trees}: {size}",
        sentence,
        {"chosen_from": run.id},
        rashomon=replace(trees, chosen=place),
        is_same=lambda known: _has_tree(store, known, tree),
    )


def _has_tree(store: RunStore, run: Run, tree: Tree) -> bool:
    """Whether a run's tree is this one; of one whose files are damaged nobody knows."""
    try:
        return same_tree(store.model(run.id), tree)
    except StoreError:
        return False


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


N_RESTARTS = 24  # of the size that is chosen
LARGER = 2  # times the leaves of the run's tree


def can_find_more(run: Run) -> bool:
    """Whether a run's learner trains a batch of restarts."""
    is_gradtree = run.learner == "gradtree" and not run.follows_paper
    return is_gradtree and not run.problem.origin


def create_more(store: RunStore, run: Run, n_restarts: int = N_RESTARTS) -> str:
    """Create the run that finds more trees beside a run's own; return its id."""
    run_id = create_like(store, run, f"{run.short_title}, more trees")
    store.add_plan(
        run_id, "more", json.dumps({"run": run.id, "n_restarts": n_restarts})
    )
    return run_id


def fit_more(store: RunStore, run: Run, callbacks: Sequence[Callback]) -> Fitted:
    """Train restarts of several sizes on all rows; the run's tree is its parent's.

    ValueError if the parent is gone.
    """
    asked = json.loads(store.plan(run.id, "more") or "{}")
    parent, model, split = first_of(store, run, asked["run"])
    assert isinstance(model, Tree)
    own, path = shown_tree(model), store.path(parent.id)
    known = store.rashomon(parent.id)
    rows = split.rows(fitted_split(model, split))
    n_known = 0 if known is None else known.n_candidates
    estimator = run_estimator(run)
    estimator.set_params(
        n_restarts=asked["n_restarts"],
        max_leaf_nodes=min(estimator.max_leaf_nodes, max(2, LARGER * own.n_leaves)),
        # Not the starts of the first batch again, nor of one found since.
        random_state=run.problem.seed + 1 + n_known,
    )
    fit_rows(estimator, rows, None, callbacks, split.groups)
    batch = estimator.batch_
    trees = [*batch.export(rows.X, rows.y), *(() if known is None else known.trees)]
    found = rashomon_set(run, own, trees, rows, path)
    sentence = (
        f"The tree of “{parent.title}”; {counted(len(batch.trees), 'more tree')} were "
        "trained beside it, to choose from."
    )
    return Fitted(
        without_origin(model, parent.provenance),
        run.problem,
        split,
        notes=(sentence,),
        measured={"more_from": parent.id, "provenance": sentence},
        path=path,
        rashomon=found,
    )


N_THRESHOLDS = {2: 16, 3: 4}  # by depth: of a column, by default


def create_all(store: RunStore, run: Run, depth: int, n_thresholds: int) -> str:
    """Create the run that looks at all trees of a depth; return its id."""
    title = f"{run.short_title}, all trees of depth {depth}"
    run_id = create_like(store, run, title)
    asked = {"run": run.id, "all_of_depth": depth, "n_thresholds": n_thresholds}
    store.add_plan(run_id, "more", json.dumps(asked))
    return run_id


def fit_all(store: RunStore, run: Run, callbacks: Sequence[Callback]) -> Fitted:
    """Look at all trees of a depth; the run's tree is the best of them.

    ValueError if the first run is gone, or there are too many trees.
    """
    asked = json.loads(store.plan(run.id, "more") or "{}")
    parent, model, split = first_of(store, run, asked["run"])
    own, rows = shown_tree(model), split.rows(fitted_split(model, split))
    constraints, classes = run.constraints, own.classes or ()
    found = all_trees(
        own,
        rows,
        class_weights(own),
        asked["all_of_depth"],
        asked["n_thresholds"],
        costs=trained_costs(constraints, classes, classes),
        min_samples_leaf=constraints.min_samples_leaf or 1,
        keeps=lambda tree: not violations(tree, constraints),
    )
    assert found.complete is not None
    origin = Origin("search", trained=False, n_splits=found.tree.n_splits, n_changed=0)
    sentence = (
        f"The best on the training rows of all trees of depth {asked['all_of_depth']} "
        f"over {counted(found.complete.n_cutpoints, 'threshold')}, those of the "
        f"features of “{parent.title}”."
    )
    return Fitted(
        with_origin(found.tree, origin),
        run.problem,
        split,
        notes=(sentence,),
        measured={"more_from": parent.id},
        origin=origin,
        rashomon=found,
    )
