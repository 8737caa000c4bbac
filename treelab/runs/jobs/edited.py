"""An edited tree becomes a run: as it is, regrown below a node, or trained around."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from treelab.data.split import DataSplit
from treelab.editing.apply import Bench, why_not_edited
from treelab.editing.edited import Edited, below
from treelab.editing.limits import EditRows, without_small_leaves
from treelab.editing.log import TRAINERS, EditLog
from treelab.editing.paths import node_of, paths, place_words
from treelab.editing.regrow import class_weights, refit_all, regrow
from treelab.learners.common.around import Around
from treelab.learners.common.origin import (
    Origin,
    changed_splits,
    feature_spread,
    with_origin,
)
from treelab.runs.jobs.derived import save_derived, with_interval_as
from treelab.runs.jobs.fit import Fitted, first_of, fitted_split, without_origin
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore, create_like
from treelab.training.events import Callback
from treelab.trees.constraints import Constraints, violations, with_order
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.feature import feature_matrix
from treelab.trees.losses import PARAMETERS
from treelab.trees.pruning import prune_empty, rebuild
from treelab.trees.pruning_path import Model, shown_tree
from treelab.trees.tree import Tree, with_midpoint_thresholds
from treelab.trees.words import counted

# Settings of what regressions are trained for.
_LOSS = ("loss", *(name for name, _ in PARAMETERS.values()))


def bench_of(
    model: Model, split: DataSplit, constraints: Constraints | None = None
) -> Bench:
    """Return a run's tree, as it is shown, and the rows by which it is edited.

    Edits are kept within ``constraints``, those of the run. ValueError if the model is
    an ensemble, or a tree that is not edited.
    """
    constraints = constraints or Constraints()
    if isinstance(model, WeightedTrees):
        raise ValueError(
            "An ensemble's trees are not edited one by one; choose a run of one tree."
        )
    tree = shown_tree(model)
    if reason := why_not_edited(tree, constraints):
        raise ValueError(reason)
    fitted = split.rows(fitted_split(model, split))
    train = split.rows("train")
    own, more = EditRows(tree, *train), EditRows(tree, *fitted)
    return Bench(tree, own, more, constraints)


def save_edited(store: RunStore, run: Run, log: EditLog) -> str:
    """Save an edited tree as a run that is done, a child of the first; return its id.

    The same log again is the same run. ValueError if the log does not fit the run's
    tree.
    """
    log = replace(log, run=run.id, training=None)
    model = store.model(run.id)
    split = run.problem.split(store.table(run.problem.table_id))
    bench = bench_of(model, split, run.constraints)
    tree = bench.tree_of(bench.replay(log))
    if not log.edits:
        raise ValueError("The log holds no edit: its tree would be the run's own.")
    tree = _of_first(without_origin(tree, run.provenance))
    return save_derived(
        store,
        run,
        tree,
        f"{run.short_title}, {counted(len(log.edits), 'edit')}",
        _by_hand(log, run),
        {"edited_from": run.id},
        more=_left_out(run, model, tree),
        edits=log.to_json(),
        is_same=lambda known: store.plan(known.id, "edits") == log.to_json(),
    )


def create_trained(store: RunStore, run: Run, log: EditLog) -> str:
    """Create the run that trains an edited tree on; return its id.

    ValueError if the log names no training, or does not fit the run's tree.
    """
    if log.training is None:
        raise ValueError("The log says nothing of training; name a learner.")
    split = run.problem.split(store.table(run.problem.table_id))
    constraints = run.constraints
    edited = bench_of(store.model(run.id), split, constraints).replay(log)  # or refused
    learner, below_path = log.training.learner, log.training.below
    node_of(edited.tree, below_path or "")  # or there is none
    if learner == "get" and constraints.limits_splits:
        raise ValueError(
            "GET cannot keep the run's constraints; train by GradTree, or CART."
        )
    settings: dict[str, Any] = {}
    if run.learner == learner and not run.follows_paper:
        settings = run.settings
    else:
        names = (*_LOSS * (run.loss is not None), *["constraints"] * bool(constraints))
        settings = {name: run.settings[name] for name in names if name in run.settings}
    how = "trained around" if below_path is None else "regrown below"
    where = "" if below_path is None else f" {place_words(below_path)},"
    title = f"{TRAINERS[learner]}, {how}{where} {counted(len(log.edits), 'edit')}"
    run_id = create_like(store, run, title, learner=learner, settings=settings)
    store.add_plan(run_id, "edits", replace(log, run=run.id).to_json())
    return run_id


def fit_edited(store: RunStore, run: Run, callbacks: Sequence[Callback]) -> Fitted:
    """Replay a run's log on its parent's tree and train what is free.

    ValueError if the parent is gone, or the log does not fit it.
    """
    log = EditLog.from_json(store.plan(run.id, "edits") or "")
    parent, model, split = first_of(store, run, log.run)
    bench = bench_of(model, split, parent.constraints)
    name = fitted_split(model, split)
    own = split.rows(name)
    rows = own, split.rows("valid") if name == "train" else own
    tree, origin = train_edited(bench, log, run, rows, callbacks)
    tree = with_interval_as(tree, model, split)
    note = _by_hand(log, parent)
    if log.training is not None:
        note += f" {log.training.sentence()}"
    return Fitted(
        with_origin(_of_first(without_origin(tree, parent.provenance)), origin),
        run.problem,
        split,
        notes=(note, *_left_out(parent, model, tree)),
        measured={"edited_from": parent.id},
        origin=origin,
    )


def train_edited(
    bench: Bench, log: EditLog, run: Run, rows: tuple, callbacks: Sequence[Callback]
) -> tuple[Tree, Origin]:
    """Return the tree that a log's edits and training make, and how it came about.

    ``rows`` are a pair of ``Rows``: those that it is fitted to, and those that choose
    among GET's steps.
    """
    training = log.training
    assert training is not None
    edited = bench.replay(log)
    held = edited.locked
    if training.below is not None:
        top = training.below
        outside = {p for p in paths(edited.tree) if p != top and not below(p, top)}
        edited = regrow(edited, top, bench.train, training.max_leaf_nodes)
        held = held | outside
    start = bench.tree_of(edited)
    if training.learner == "cart":
        tree, trained = start, False
    else:
        tree, trained = _gradients(bench, edited, held, run, rows, callbacks), True
    spread = feature_spread(feature_matrix(start.features, rows[0][0]))
    n_changed = changed_splits(start, tree, spread) if trained else 0
    # Where the parent was fitted to validation rows, none are left to choose by.
    chooses = training.learner == "get" and rows[0][0] is not rows[1][0]
    held_out = "validation rows" if chooses else ""
    return tree, Origin("edited", trained, tree.n_splits, n_changed, held_out=held_out)


def _gradients(
    bench: Bench,
    edited: Edited,
    held: frozenset[str],
    run: Run,
    rows: tuple,
    callbacks: Sequence[Callback],
) -> Tree:
    """Train the free splits of an edited tree by gradient descent."""
    tree = rebuild(replace(edited.tree, between=None, missing_rows=None))
    named = paths(tree)
    locked = np.array([path in held for path in named])
    columns = [feature.column for feature in tree.features]
    allowed = np.array(
        [
            [column not in closed for column in columns]
            for closed in map(edited.closed_at, named)
        ]
    )
    constraints = edited.constraints
    if constraints.together or constraints.max_columns is not None:
        # What the other splits of a path choose is not known yet: each keeps its own.
        for node in np.flatnonzero(tree.feature >= 0):
            allowed[node] = np.arange(len(columns)) == tree.feature[node]
    weights = class_weights(edited.start)

    def with_leaves(one: Tree) -> Tree:
        """Fit the leaves; free thresholds move midway between their rows."""
        middle = with_midpoint_thresholds(one.with_rows(*rows[0])).threshold
        moved = np.where(locked, one.threshold, middle)
        bare = replace(one, threshold=moved, between=None, missing_rows=None)
        fitted = refit_all(bare, bench.fitted, weights, constraints)
        least = constraints.min_samples_leaf
        fitted = without_small_leaves(fitted, least, locked & ~tree.is_leaf)
        return with_order(prune_empty(fitted), constraints)

    held_splits = locked & ~tree.is_leaf
    if (held_splits | tree.is_leaf).all():
        raise ValueError(
            "Nothing is left to train: every split is locked. Unlock some, or regrow "
            "below a leaf."
        )
    how: dict[str, Any] = {"seed": run.problem.seed, "device": run.device}
    how["callbacks"] = callbacks
    if run.learner == "get":
        from treelab.learners.get.around import train_around as train_get  # loads torch
        from treelab.learners.get.settings import GetSettings

        # GET trains by the costs of errors, and shifts leaves by weights of classes.
        own = weights if constraints.class_costs else np.ones_like(weights)
        free = Around(tree, held_splits, allowed, own, with_leaves)
        return train_get(free, *rows, _settings(GetSettings, run), **how)
    from treelab.learners.gradtree.around import train_around  # loads torch
    from treelab.learners.gradtree.settings import GradTreeSettings

    around = Around(tree, held_splits, allowed, weights, with_leaves)
    return train_around(around, rows[0], _settings(GradTreeSettings, run), **how)


def _settings(of: type, run: Run) -> Any:
    """Return a run's settings; of a regressor's loss it is the tree that knows."""
    known = {own.name for own in fields(of)}
    return of(**{name: run.settings[name] for name in run.settings if name in known})


def _of_first(tree: Tree) -> Tree:
    """Return a tree whose notes say that they are of the tree that was edited."""
    first = "Of the first tree: "
    notes = [note if note.startswith(first) else first + note for note in tree.notes]
    return replace(tree, notes=tuple(notes))


def _left_out(run: Run, model: Model, tree: Tree) -> list[str]:
    """Say what of the first model its edited tree no longer has."""
    notes = []
    if model.has_predictor:
        notes.append("The predictor on top of the first tree is left out.")
    before = shown_tree(model)
    if before.leaf_weights is not None and before.leaf_weights.any():
        notes.append("Leaves that were touched are constants, no longer linear.")
    constraints = run.constraints
    if constraints.limits_splits:
        broken = violations(tree, constraints)
        if broken:
            notes.append(f"Constraint dropped. {' '.join(broken[:3])}")
        else:
            notes.append(f"The first run's constraints ({constraints}) are kept.")
    return notes


def _by_hand(log: EditLog, run: Run) -> str:
    """Say that a run's tree was edited, and what was known of test scores then."""
    words = f"Edited by hand ({counted(len(log.edits), 'edit')}) from “{run.title}”."
    n_seen = log.seen_test
    if n_seen is None:
        return words
    if n_seen >= len(log.edits):
        return f"{words} Test scores were not shown before the last edit."
    after = f"after {counted(n_seen, 'edit')}, before the last"
    return f"{words} Test scores were shown {after}."
