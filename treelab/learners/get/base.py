"""What GET's classifier and regressor share: from a table to a tree and its origin."""

import time
from functools import partial

import numpy as np
import pandas as pd
import torch

from treelab.learners.common.base import TableEstimator, TrainingData
from treelab.learners.common.device import resolve_device
from treelab.learners.common.folds import VALIDATION_FRACTION, hold_out
from treelab.learners.common.origin import (
    Origin,
    changed_splits,
    feature_spread,
    with_origin,
)
from treelab.learners.common.spec import read_settings
from treelab.learners.common.target_scale import TargetScale
from treelab.learners.get.export import to_tree
from treelab.learners.get.fit import Found, fit_tree
from treelab.learners.get.paper import fit_paper_tree
from treelab.learners.get.prune import choose_sizes
from treelab.learners.get.rows import Rows, rounded
from treelab.learners.get.settings import GetSettings, auto_depth
from treelab.learners.get.stages import Fit
from treelab.learners.get.trees import HardTrees
from treelab.training.events import Monitor
from treelab.trees.feature import feature_matrix
from treelab.trees.pruning.size_path import COLUMNS, SizePath
from treelab.trees.pruning.sizes import path_of_sizes
from treelab.trees.tree import Tree

CPU = torch.device("cpu")


class GetEstimator(GetSettings, TableEstimator):
    """From a table to a tree, its path and its origin; a subclass knows the target."""

    path_: SizePath

    def fit(self, X, y, *, X_valid=None, y_valid=None, callbacks=()):
        """Learn from ``X`` (n_rows, n_columns), ``y`` (n_rows,); return self.

        Parameters
        ----------
        X_valid, y_valid : DataFrame and array-like, optional
            Rows that choose among starts, steps and sizes. Without them a fifth of
            ``X`` is held out for that, and joins the others at the end, when the
            leaves are computed.
        callbacks : sequence of callable
            Called with each ``Progress``; returning True stops with the best tree so
            far.
        """
        started = time.monotonic()
        settings = read_settings(self)
        data = self._read(X, y, X_valid, y_valid, numbers="minmax")
        self._set_target(data, settings)
        device = resolve_device(self.device)
        tunes = isinstance(settings.max_depth, str)
        fit = Fit(
            rounded(self._rows(data.X, data.y, device)),
            rounded(self._rows(data.X_valid, data.y_valid, device)),
            settings,
            auto_depth(len(data.y)) if tunes else int(settings.max_depth),
            np.random.default_rng(self._draw_seed()),
            Monitor(1, callbacks, stage="starts", started=started, is_preparation=True),
            partial(self._snapshot, data=data),
        )
        if settings.recipe == "paper":
            found = fit_paper_tree(fit, tune_depth=tunes)
        else:
            found = fit_tree(fit)
        self.history_ = fit.monitor.history_frame()
        self._retain(found, data, settings)
        return self

    @property
    def tree_(self) -> Tree:
        """The fitted tree, in the columns and units of ``X``."""
        return self.model_

    def _snapshot(self, trees: HardTrees, *, data: TrainingData) -> Tree:
        """The tree of the moment, its leaves from the training rows."""
        rows = self._rows(data.encoder.transform(data.frame), data.y)
        return self._export(trees, rows, data.encoder, data.frame, data.y)

    def _retain(self, found: Found, data: TrainingData, settings: GetSettings) -> None:
        """Set what the fit leaves: path, tree and origin, leaves from all rows."""
        valid = self._rows(data.X_valid, data.y_valid)
        limit = settings.max_leaf_nodes
        sizes, scores, chosen = choose_sizes(found.tree, found.rows, valid, limit)
        if settings.recipe == "paper":  # not pruned, and trained on all rows
            chosen = len(sizes) - 1
            scores = scores.assign(score=np.nan, standard_error=np.nan)
        tree = sizes[chosen]
        self._choose_class_weights(tree, data)
        frame, y = data.frame, data.y
        # Categories were cross-fitted for training; prediction sees their plain rates.
        x = data.encoder.transform(frame)
        if data.held_out:
            frame = pd.concat([frame, data.frame_valid])
            y = np.concatenate([y, data.y_valid])
            x = np.concatenate([x, data.X_valid])
        rows = self._rows(x, y)
        export = partial(
            self._export, rows=rows, encoder=data.encoder, frame=frame, y=y
        )
        trees = [export(tree) for tree in sizes]
        retained = np.isfinite(tree.threshold[0])
        start, end = (
            export(each.cut_to(retained[: each.threshold.shape[1]]))
            for each in (found.start, found.trained)
        )
        spread = feature_spread([*feature_matrix(start.features, frame).T])
        n_splits = trees[chosen].n_splits
        pruned = retained.sum() < np.isfinite(found.tree.threshold).sum()
        self.origin_ = Origin(
            found.kind,
            trained=settings.learning_rate > 0,
            n_splits=n_splits,
            n_changed=min(n_splits, changed_splits(start, end, spread)),
            later=(*found.later, "pruning") if pruned else found.later,
            held_out=self._held_out(data, settings),
        )
        trees[chosen] = with_origin(trees[chosen], self.origin_)
        n_leaves, values, errors = (scores[name].to_numpy() for name in COLUMNS)
        path = path_of_sizes(trees, n_leaves, values, errors, chosen)
        self.path_ = self._with_probabilities(path, frame, y)
        self.model_ = self.path_.tree

    def _held_out(self, data: TrainingData, settings: GetSettings) -> str:
        """What the tree was selected on, for its origin."""
        if settings.recipe == "paper":
            tunes = isinstance(settings.max_depth, str)
            return "a third of the rows, for the depth alone" if tunes else ""
        return "a fifth of the rows" if data.held_out else "validation rows"

    def _hold_out(self, target):
        """The paper's split is 2 to 1 (appendix F.1)."""
        fraction = 1 / 3 if self.recipe == "paper" else VALIDATION_FRACTION
        by_class, seed = self._task() != "regression", self._draw_seed()
        return hold_out(target, by_class=by_class, seed=seed, fraction=fraction)

    def _export(self, trees, rows, encoder, frame, y) -> Tree:
        """Write a batch of one tree for the user, its leaves from encoded rows."""
        return to_tree(
            trees.refit(rows),
            encoder,
            frame,
            self._decode_target(y),
            classes=self.labels(),
            scale=self._scale(),
            notes=self._notes(),
        )

    def _set_target(self, data: TrainingData, settings: GetSettings) -> None:
        """Set what training needs to know of the target."""
        raise NotImplementedError

    def _rows(self, x: np.ndarray, y: np.ndarray, device=CPU) -> Rows:
        """Encoded rows with their target as trees are trained to predict it."""
        raise NotImplementedError

    def _scale(self) -> TargetScale:
        """Scale of what leaves hold; probabilities have none."""
        return TargetScale()

    def _choose_class_weights(self, trees: HardTrees, data: TrainingData) -> None:
        """Choose the weights of the classes in the leaves, where validation may."""

    def _notes(self) -> tuple[str, ...]:
        """What a reader of the tree must know."""
        return ()
