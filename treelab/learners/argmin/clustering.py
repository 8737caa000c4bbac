"""Hierarchical clustering by an argmin tree that predicts the table's own columns."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
import torch
from sklearn.base import ClusterMixin
from sklearn.utils import check_random_state

from treelab.learners.argmin.cluster_columns import ClusterColumns, encode_columns
from treelab.learners.argmin.cluster_path import cluster_path, with_clusters
from treelab.learners.argmin.export import TrainedTree, TreeExporter
from treelab.learners.argmin.fit import check_rows, train_path
from treelab.learners.argmin.network import ArgminTrees, ColumnMaskingTrees, RowTensors
from treelab.learners.argmin.origins import with_origins
from treelab.learners.argmin.path import WithPath
from treelab.learners.argmin.settings import ClusterSettings
from treelab.learners.argmin.starts import kmeans_splits
from treelab.learners.common.base import TableEstimator
from treelab.learners.common.device import resolve_device
from treelab.learners.common.estimator import estimator
from treelab.learners.common.folds import FEWEST_ROWS, VALIDATION_FRACTION
from treelab.learners.common.spec import read_settings
from treelab.ops.threads import one_thread
from treelab.trees.pruning.simplify import prune_empty
from treelab.trees.tree import Tree


@estimator
class ArgminTreeClusterer(ClusterSettings, ClusterMixin, WithPath, TableEstimator):
    """Clusters in a hierarchy: a tree that predicts columns of the table from others.

    No labels are needed. Every leaf predicts one value for each target column, so rows
    come together that are alike in what the tree predicts; a leaf is a cluster, and
    what lies under a split is a cluster of clusters. All splits are trained together.

    Source: Zantedeschi, Kusner and Niculae, "Learning binary decision trees by argmin
    differentiation", ICML 2021, arXiv:2010.04627; section 4.2 of its first version.

    Attributes
    ----------
    labels_ : int array of shape (n_rows,)
        Cluster of each row that was given, from 0, numbered from left to right.
    n_clusters_ : int
        Clusters of the chosen tree.
    tree_ : Tree
        The chosen tree in the columns' own units; its classes are the clusters.
    path_ : PruningPath
        The trees of all strengths; in its ``scores`` their dendrogram purity, where
        labels are known. ``treelab.evaluation.metrics.dendrogram_purity(tree.parent,
        tree.apply(X), y)`` measures it on other rows.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Impurity that the splits on each column of ``X`` remove, as a fraction of all.
    origin_ : Origin
        How the chosen tree came about.
    history_ : DataFrame
        Losses of the chosen tree from its start, epoch 0, to its end, in standard
        deviations of the target columns, squared.
    """

    @one_thread()  # sums that threads share differ in their last bits
    def fit(self, X, y=None, *, X_valid=None, callbacks=()):
        """Cluster the rows of a table.

        Parameters
        ----------
        X : DataFrame or array of shape (n_rows, n_columns)
            Numbers and categories, missing values allowed.
        y : array of shape (n_rows,), optional
            Known labels, by which the purity in ``path_.scores`` is measured; no tree
            depends on them.
        X_valid : like X, optional
            Stops the training and chooses the strength; a fifth of the rows is held
            out of X if not given.
        callbacks : sequence of callable
            Called with a ``Progress`` after each epoch; True stops the training.

        Returns
        -------
        self
        """
        settings = read_settings(self)
        frame = self._read_frame(X, reset=True)
        train, valid = self._split(frame, X_valid)
        columns = encode_columns(train, valid, settings)
        check_rows(settings, len(train))
        seed = int(check_random_state(self.random_state).randint(2**31))
        exporter = TreeExporter(columns.data, settings.of_trees())

        def export(tree: TrainedTree) -> Tree:
            return prune_empty(exporter.export_splits(tree))

        trained = train_path(
            self._network(settings, columns, seed),
            settings,
            seed,
            snapshot=lambda tree: with_clusters(export(tree), frame),
            callbacks=callbacks,
        )
        path = cluster_path(
            [export(tree) for tree in trained.trees],
            settings,
            trained.valid_loss,
            frame,
            y,
        )
        starts = [export(tree) for tree in trained.starts]
        self.model_, self.origin_ = with_origins(
            path,
            starts,
            trained,
            start=settings.init,
            matrix=exporter.matrix,
            held_out="validation rows" if X_valid is not None else _held_out(frame),
        )
        start = with_clusters(starts[path.chosen], frame)
        self.history_ = trained.retain(path.chosen, start, self.tree_)
        self.n_epochs_ = int(self.history_["epoch"].iloc[-1])
        self.labels_ = self._cluster_of(frame)
        self.n_clusters_ = self.tree_.n_leaves
        return self

    def predict(self, X) -> np.ndarray:
        """Return the cluster, int64 (n_rows,), of each row of ``X``."""
        return self._cluster_of(self._predict_frame(X))

    def _cluster_of(self, frame: pd.DataFrame) -> np.ndarray:
        """Cluster of each row of a table that was checked."""
        return self.tree_.value.argmax(axis=1)[self.tree_.apply(frame)]

    def _split(self, frame: pd.DataFrame, X_valid) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Rows to train and to validate on; the same ones in a tiny table."""
        if X_valid is not None:
            return frame, self._read_frame(X_valid, reset=False)
        order = check_random_state(self.random_state).permutation(len(frame))
        if len(frame) < FEWEST_ROWS:
            return frame.iloc[order], frame.iloc[order]
        n_valid = round(len(frame) * VALIDATION_FRACTION)
        train, valid = np.sort(order[n_valid:]), np.sort(order[:n_valid])
        return frame.iloc[train], frame.iloc[valid]

    def _network(
        self, settings: ClusterSettings, columns: ClusterColumns, seed: int
    ) -> ArgminTrees:
        """The untrained network of all strengths, on the device with its rows."""
        device, data = resolve_device(self.device), columns.data
        rows, valid_rows = (
            RowTensors.of(x, y, np.ones(len(y)), device)
            for x, y in ((data.X, columns.y), (data.X_valid, columns.y_valid))
        )
        kind: Callable[..., ArgminTrees] = ArgminTrees
        if settings.masks_columns:
            masked = columns.features_of_columns()
            kind = partial(ColumnMaskingTrees, columns=masked)
        return kind(
            settings.of_trees(),
            rows,
            valid_rows,
            columns.y.shape[1],
            loss_scale=1.0,
            generator=torch.Generator().manual_seed(seed),
            splits=None
            if settings.init == "random"
            else kmeans_splits(data.X, settings.depth, seed),
        )


def _held_out(frame: pd.DataFrame) -> str:
    """What ``_split`` holds out, in words."""
    return "a fifth of the rows" if len(frame) >= FEWEST_ROWS else ""
