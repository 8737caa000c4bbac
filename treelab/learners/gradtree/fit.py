"""How GradTree learns: cross-validated sizes, restarts on all rows, their medoid."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import torch
from sklearn.utils import check_random_state

from treelab.data.encoding.table_encoder import TableEncoder
from treelab.learners.common.device import resolve_device
from treelab.learners.common.folds import FEWEST_ROWS
from treelab.learners.common.grown_tree import GrownTree
from treelab.learners.common.objective import Objective
from treelab.learners.common.origin import (
    Origin,
    changed_splits,
    feature_spread,
    with_origin,
)
from treelab.learners.common.spec import read_settings
from treelab.learners.common.tuned_tree import TunedTree
from treelab.learners.gradtree.annealing import (
    Plan,
    PlannedStart,
    epochs_of,
    make_starts,
    plans_of,
    train,
)
from treelab.learners.gradtree.batch import Batch
from treelab.learners.gradtree.cross_validation import Choice, cross_validate
from treelab.learners.gradtree.encodings import Encoding
from treelab.learners.gradtree.hard_tree import HardTree
from treelab.learners.gradtree.selection import medoids
from treelab.learners.gradtree.settings import GradTreeSettings
from treelab.learners.gradtree.straight_through import train_straight_through
from treelab.learners.gradtree.table import Table
from treelab.training.events import CROSS_VALIDATION, Callback, Monitor
from treelab.trees.constraints import kept, kept_path, with_note
from treelab.trees.feature import feature_matrix
from treelab.trees.pruning import (
    SizePath,
    cost_complexity_path,
    merge_equal,
    path_of_sizes,
    simplify,
    steps_at,
)
from treelab.trees.tree import Tree

VALIDATION = {True: "the validation rows that were given", False: "a fifth of the rows"}
HELD_OUT = {0: "", 1: "a fifth of the rows, which joined training in the end"}


class GradTreeFit(GradTreeSettings, TunedTree):
    """What the classifier and the regressor share."""

    def fit(
        self, X, y, *, X_valid=None, y_valid=None, callbacks: Sequence[Callback] = ()
    ):
        """Learn from ``X`` (n_rows, n_columns), ``y`` (n_rows,); return self.

        Parameters
        ----------
        X : DataFrame or array of shape (n_rows, n_columns)
            Raw table: numbers, categories and missing values.
        y : array-like of shape (n_rows,)
            Target.
        X_valid, y_valid : optional
            More rows. The paper's recipe selects by them; treelab's cross-validates
            all rows and trains on them, too.
        callbacks : sequence of callable
            Called with a ``Progress`` now and then; returning True stops training, and
            the tree is made of what is there.
        """
        settings = read_settings(self)
        device = resolve_device(self.device)
        random = check_random_state(self.random_state)
        data = self._read(X, y, X_valid, y_valid, numbers="none")
        frame = pd.concat([data.frame, data.frame_valid]).reset_index(drop=True)
        table = self._table(frame, np.concatenate([data.y, data.y_valid]), settings)
        generator = torch.Generator(device).manual_seed(random.randint(2**31))
        if settings.recipe == "paper" and table.target.constraints:
            raise ValueError(
                'The paper\'s recipe has no constraints; recipe="treelab" trains with '
                "them."
            )
        if settings.recipe == "paper":
            rows = np.arange(len(frame))
            held_out = rows >= len(data.y) if len(data.y_valid) else rows < 0
            validation = VALIDATION[X_valid is not None] if held_out.any() else ""
            self._fit_paper(table, held_out, validation, settings, callbacks, generator)
        else:
            self._fit_treelab(table, settings, callbacks, generator, random)
        return self

    def _hold_out(self, target):
        """Hold rows out for good in the paper's recipe alone, if they can be spared."""
        if self.recipe == "paper" and len(target) >= FEWEST_ROWS:
            return super(GrownTree, self)._hold_out(target)
        rows = np.arange(len(target))
        return rows, rows[:0]

    def _fit_treelab(self, table: Table, settings, callbacks, generator, random):
        """Cross-validate sizes, train on all rows, retain each plan's medoid."""
        epochs = epochs_of(settings, len(table.frame))
        monitor = Monitor(
            math.ceil(2 * epochs),
            callbacks,
            stage=CROSS_VALIDATION,
            is_preparation=True,
        )
        choice = cross_validate(table, settings, monitor, generator, random)
        if choice.stopped:
            settings = replace(settings, n_steps=0)
        encoding = table.encode(np.zeros(len(table.frame), dtype=bool))
        weights = table.target.weights[choice.weighting]
        starts = make_starts(
            [encoding],
            table.target.y,
            table.values,
            [*dict.fromkeys(choice.plans)],
            settings.n_restarts,
            settings,
            random,
            [choice.leaf_size],
        )
        export = partial(self._export, table, encoding.encoder, weights=weights)
        monitor = monitor.next_stage("training", math.ceil(epochs))
        trees, _ = train(
            [encoding],
            starts,
            table.target.y,
            table.objective,
            settings,
            monitor,
            generator,
            lambda tree: table.restore(export(tree)),
        )
        hard = trees.hard_trees()
        self.batch_ = Batch(hard, encoding.encoder, table.target.classes, weights)
        retained = _retained(table, choice, starts, hard, encoding)
        whole = {plan: export(hard[place]) for plan, place in retained.items()}
        self.path_ = self._path(table, choice, whole, weights)
        place = retained[choice.plan]
        start = table.restore(export(starts[place].start.tree))
        held_out = f"the rows held out of {choice.n_folds} folds in turn"
        is_pruned = self.path_.tree.n_leaves < whole[choice.plan].n_leaves
        origin = Origin(
            start=starts[place].start.kind,
            trained=trains(settings) and not choice.stopped,
            n_splits=0,
            n_changed=0,
            later=("pruning",) if is_pruned else (),
            held_out=HELD_OUT.get(choice.n_folds, held_out),
        )
        self._retain(start, origin, table)
        monitor.retain(place, {0.0: lambda: start, epochs: lambda: self.model_})
        self.history_ = monitor.history_frame()

    def train_batch(
        self,
        X,
        y,
        *,
        most_leaves: int,
        n_restarts: int,
        weights: np.ndarray,
        callbacks: Sequence[Callback] = (),
    ) -> Batch:
        """Train more trees on all rows, none of which is chosen; ``fit`` is not needed.

        Parameters
        ----------
        X, y
            As in ``fit``.
        most_leaves : int
            Of the largest trees; smaller ones are trained beside them.
        n_restarts : int
            Trees of each size.
        weights : ndarray of shape (n_classes,)
            Of the classes in the leaves; (1,) for regression.
        callbacks : sequence of callable
            As in ``fit``.
        """
        settings = read_settings(self)
        random = check_random_state(self.random_state)
        data = self._read(X, y, None, None, numbers="none")
        table = self._table(data.frame, data.y, settings)
        encoding = table.encode(np.zeros(len(table.frame), dtype=bool))
        sizes = sorted({plan.size for plan in plans_of(settings)})
        largest = next((size for size in sizes if size >= most_leaves), sizes[-1])
        starts = make_starts(
            [encoding],
            table.target.y,
            table.values,
            [plan for plan in plans_of(settings) if plan.size <= largest],
            n_restarts,
            settings,
            random,
        )
        device = resolve_device(self.device)
        generator = torch.Generator(device).manual_seed(random.randint(2**31))
        export = partial(self._export, table, encoding.encoder, weights=weights)
        epochs = math.ceil(epochs_of(settings, len(table.frame)))
        monitor = Monitor(epochs, callbacks)
        trees, _ = train(
            [encoding],
            starts,
            table.target.y,
            table.objective,
            settings,
            monitor,
            generator,
            lambda tree: table.restore(export(tree)),
        )
        return Batch(
            trees.hard_trees(), encoding.encoder, table.target.classes, weights
        )

    def _fit_paper(
        self, table: Table, held_out, validation: str, settings, callbacks, generator
    ):
        """Train by straight-through gradients; retain the best on validation."""
        encoding = table.encode(held_out)
        monitor = Monitor(settings.max_epochs, callbacks)
        start, tree, value = train_straight_through(
            encoding, table.target.y, table.objective, settings, monitor, generator
        )
        export = partial(
            self._export, table, encoding.encoder, weights=table.target.weights[0]
        )
        own = self._trained_values(value, table.objective)
        model = table.restore(simplify(export(tree, leaf_value=own)))
        nothing = {"score": [math.nan], "standard_error": [math.nan]}
        scores = pd.DataFrame({"n_leaves": [model.n_leaves], **nothing})
        self.path_ = SizePath((model,), scores, 0)
        self._retain(
            table.restore(export(start)),
            Origin("random", trains(settings), 0, 0, held_out=validation),
            table,
        )
        self.history_ = monitor.history_frame()

    def _path(
        self,
        table: Table,
        choice: Choice,
        whole: dict[Plan, Tree],
        weights: np.ndarray,
    ) -> SizePath:
        """Prune the retained trees to every number of leaves."""
        paths = {plan: cost_complexity_path(tree) for plan, tree in whole.items()}
        trees = []
        for size, plan in zip(choice.sizes, choice.plans):
            path = paths[plan]
            step = int(steps_at(path, np.array([size]))[0])
            merged = merge_equal(path.trees[step], same_class=True)
            # A merged leaf predicts what its own rows say, weighted as all are.
            own = weights if table.by_class else None
            trees.append(self._with_rows(merged, table, own))
        found = path_of_sizes(
            trees, choice.sizes, choice.scores, choice.standard_errors, choice.chosen
        )
        found = kept_path(found, table.target.constraints)
        return replace(found, trees=tuple(map(table.restore, found.trees)))

    def _retain(self, start: Tree, origin: Origin, table: Table) -> None:
        """Set the model and its origin, its splits counted, on the path, too."""
        self.path_ = self._with_probabilities(self.path_, table.frame, table.target.y)
        tree = self.path_.tree
        columns = feature_matrix(tree.features, table.frame).T
        n_changed = changed_splits(start, tree, feature_spread([*columns]))
        self.origin_ = replace(origin, n_splits=tree.n_splits, n_changed=n_changed)
        self.model_ = with_origin(tree, self.origin_)
        trees = [*self.path_.trees]
        trees[self.path_.chosen] = self.model_
        self.path_ = replace(self.path_, trees=tuple(trees))

    def _export(
        self,
        table: Table,
        encoder: TableEncoder,
        hard: HardTree,
        *,
        weights: np.ndarray,
        leaf_value: np.ndarray | None = None,
    ) -> Tree:
        """Rewrite a tree in the user's columns, with rows at its nodes.

        Values stay in the unit of the table's target, see ``Table.restore``. Leaves
        are refitted to the rows, unless their values (L, C) are given.
        """
        tree = hard.export(encoder, table.target.n_outputs, table.target.classes)
        constraints = table.target.constraints
        tree = with_note(replace(tree, notes=self._notes(weights)), constraints)
        tree = self._with_rows(tree, table, weights if table.by_class else None)
        if leaf_value is not None:
            value = tree.value.copy()
            value[hard.leaves] = leaf_value
            return replace(tree, value=value)
        return kept(simplify(tree), constraints)

    def _trained_values(self, value: np.ndarray, objective: Objective) -> np.ndarray:
        """What trained raw outputs (L, C) predict."""
        raise NotImplementedError

    def _notes(self, weights: np.ndarray) -> tuple[str, ...]:
        """Note what is special about a weighting of the classes."""
        return ()


def trains(settings: GradTreeSettings) -> bool:
    """Whether a learning rate lets splits move."""
    return settings.learning_rate_index > 0 or settings.learning_rate_values > 0


def _retained(
    table: Table,
    choice: Choice,
    starts: list[PlannedStart],
    hard: list[HardTree],
    encoding: Encoding,
) -> dict[Plan, int]:
    """Place of the tree that is retained of each plan in use."""
    leaves = [tree.apply(encoding.seen) for tree in hard]
    rows = np.arange(len(table.frame))
    retained: dict[Plan, int] = {}
    own: list[int] = []
    for plan in dict.fromkeys(choice.plans):
        # All rows may fill fewer leaves than a plan has: then those of the last.
        own = [e for e, start in enumerate(starts) if start.plan == plan] or own
        best = medoids(
            table.target,
            [hard[e] for e in own],
            [leaves[e] for e in own],
            rows,
            by_vote=plan.by_vote,
        )
        retained[plan] = own[best[choice.weighting]]
    return retained
