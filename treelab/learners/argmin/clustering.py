"""Hierarchical clustering by an argmin tree that predicts the table's own columns."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import torch
from sklearn.base import ClusterMixin
from sklearn.utils import check_random_state
from torch import Tensor

from treelab.data.encoding import TableEncoder
from treelab.evaluation.metrics import dendrogram_purity
from treelab.learners.argmin.fit import (
    PathTraining,
    TrainedTree,
    TreeExporter,
    WithPath,
    size_of,
)
from treelab.learners.argmin.network import ArgminTrees, RowTensors, spawn
from treelab.learners.argmin.settings import ClusterSettings
from treelab.learners.argmin.starts import kmeans_splits, random_splits
from treelab.learners.common.base import TableEstimator, TrainingData, check_target
from treelab.learners.common.folds import FEWEST_ROWS, VALIDATION_FRACTION
from treelab.learners.common.settings import estimator, read_settings
from treelab.ops.threads import one_thread
from treelab.training.device import resolve_device
from treelab.trees.pruning import prune_empty
from treelab.trees.pruning_path import PruningPath
from treelab.trees.tree import Tree

MOST_CATEGORIES = 50  # of a category column; one with more is encoded as a constant


class ColumnMaskingTrees(ArgminTrees):
    """Argmin trees that predict each column from the others.

    ``columns`` (J, F) says which features belong to each of J columns. A row's target
    column is masked: a random one in each training batch, each in turn in validation. 0
    is the mean of a z-score, so a mask is a factor 0.
    """

    def __init__(self, *args, columns: np.ndarray, generator, **options):
        # Drawn first, so that the masks do not depend on what else is drawn.
        mask_generator = spawn(generator, options["splits"][0].device)
        super().__init__(*args, generator=generator, **options)
        self.mask_generator = mask_generator
        self.columns = torch.tensor(columns).to(self.rows.x)

    def training_batch(self, rows: Tensor) -> RowTensors:
        """Return the training rows of these indices, each without a random column."""
        drawn, n_columns = self.mask_generator, len(self.columns)
        column = torch.randint(
            n_columns, rows.shape, generator=drawn, device=rows.device
        )
        return self._mask(super().training_batch(rows), column)

    def validation_batches(self) -> Iterator[RowTensors]:
        """Yield the validation rows without each of the columns in turn."""
        for column in range(len(self.columns)):
            for rows in super().validation_batches():
                every = torch.full(rows.y.shape[:1], column, device=rows.y.device)
                yield self._mask(rows, every)

    def _mask(self, rows: RowTensors, column: Tensor) -> RowTensors:
        """Rows without one column of each, (B,)."""
        return replace(rows, x=rows.x * (1 - self.columns[column]).t())


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
        labels = None if y is None else check_target(y, len(frame), "y")
        train, valid = self._split(frame, X_valid)
        data, targets = encode_columns(train, valid, settings)
        seed = int(check_random_state(self.random_state).randint(2**31))
        exporter = TreeExporter(data, settings.of_trees())

        def export(tree: TrainedTree) -> Tree:
            return prune_empty(exporter.export_splits(tree))

        training = PathTraining(
            self._network(settings, data, targets, seed),
            seed,
            snapshot=lambda tree: with_clusters(export(tree), frame),
            callbacks=callbacks,
        )
        training.run()
        trees = [export(point.trees[0]) for point in training.points]
        loss = np.array([float(point.valid_loss[0]) for point in training.points])
        path = cluster_path(trees, settings, loss, frame, labels)
        held_out = "a fifth of the rows" if len(frame) >= FEWEST_ROWS else ""
        held_out = held_out if X_valid is None else "validation rows"
        how = {"start": settings.init, "held_out": held_out}
        self._retain(path, training, 0, exporter, **how)
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
        self,
        settings: ClusterSettings,
        data: TrainingData,
        targets: Sequence[np.ndarray],
        seed: int,
    ) -> ArgminTrees:
        """The untrained network of all strengths, on the device with its rows."""
        device = resolve_device(self.device)
        rows, valid_rows = (
            RowTensors.of(x, y, np.ones(len(y)), device)
            for x, y in zip((data.X, data.X_valid), targets)
        )
        generator = torch.Generator().manual_seed(seed)
        trees: type[ArgminTrees] = ArgminTrees
        options = {}
        if settings.masks_columns:
            owner = np.array([f.column for f in data.encoder.features_])
            options["columns"] = np.unique(owner)[:, None] == owner
            trees = ColumnMaskingTrees
        return trees(
            settings.of_trees(),
            rows,
            valid_rows,
            targets[0].shape[1],
            splits=kmeans_splits(data.X, settings.depth, seed)
            if settings.init == "clusters"
            else random_splits(rows.x, 1, settings.depth, "median", generator),
            generator=generator,
            **options,
        )


def encode_columns(
    train: pd.DataFrame, valid: pd.DataFrame, settings: ClusterSettings
) -> tuple[TrainingData, list[np.ndarray]]:
    """Encode the columns that the tree reads, and those that it predicts, as z-scores.

    The encoders see the training rows alone. Returned are what the splits read, its
    ``y`` zeros, and the columns to predict, float32 (n_rows, C), of training and of
    validation rows. A table of one column is refused, as are targets that are none of
    its columns.
    """
    targets = target_columns(list(train.columns), settings)
    features = [name for name in train.columns if name not in targets] or targets
    nothing = np.zeros(len(train))
    reads, predicts = (
        TableEncoder("zscore", task="regression", one_hot_max=MOST_CATEGORIES)
        for _ in range(2)
    )
    data = TrainingData(
        encoder=reads,
        X=reads.fit_transform(train[features], nothing),
        y=nothing,
        X_valid=reads.transform(valid[features]),
        y_valid=np.zeros(len(valid)),
        frame=train,
        frame_valid=valid,
        n_outputs=1,
    )
    predicts.fit_transform(train[targets], nothing)
    both = (predicts.transform(rows[targets]) for rows in (train, valid))
    return data, [encoded.astype(np.float32) for encoded in both]


def target_columns(columns: Sequence[str], settings: ClusterSettings) -> list[str]:
    """Return the columns to predict.

    Raises ValueError if the choice leaves nothing to learn from.
    """
    wanted = settings.target_columns
    if len(columns) < 2:
        raise ValueError(
            "Clustering needs at least 2 columns, got 1 feature(s): a tree learns "
            "one column from another."
        )
    if wanted is None or settings.masks_columns:
        return list(columns)
    if isinstance(wanted, str) or not isinstance(wanted, Collection):
        raise ValueError(
            "target_columns must be None, 'each' or a list of column names, got "
            f"{wanted!r}."
        )
    targets = list(wanted)
    for name in targets:
        if name not in columns:
            raise ValueError(
                f"target_columns names {name!r}; the table has "
                f"{', '.join(columns[:8])}{', ...' if len(columns) > 8 else ''}."
            )
    if not targets or len(set(targets)) >= len(columns):
        raise ValueError(
            f"target_columns must name 1 to {len(columns) - 1} of the "
            f"{len(columns)} columns, got {len(set(targets))}; None takes all."
        )
    return targets


def cluster_path(
    trees: Sequence[Tree],
    settings: ClusterSettings,
    valid_loss: np.ndarray,
    frame: pd.DataFrame,
    labels: Sequence | None = None,
) -> PruningPath:
    """Bind the trees of all strengths; the lowest validation loss (n,) is chosen.

    The rows of ``frame`` are counted at every node; by known ``labels`` (n_rows,)
    dendrogram purity is measured. The path's ``scores``: strength, valid_loss, the
    columns of ``size_of``, and purity where labels are known.
    """
    strengths = settings.strengths
    sizes = [size_of(tree, settings.n_nodes) for tree in trees]
    if labels is not None:
        for size, tree in zip(sizes, trees):
            size["purity"] = dendrogram_purity(tree.parent, tree.apply(frame), labels)
    most = max(tree.n_leaves for tree in trees)
    return PruningPath(
        strengths=strengths,
        trees=tuple(with_clusters(tree, frame, most) for tree in trees),
        predictors=(None,) * len(trees),
        chosen=int(np.nan_to_num(valid_loss, nan=np.inf).argmin()),
        scores=pd.DataFrame(
            {"strength": strength, "valid_loss": float(loss)} | size
            for strength, loss, size in zip(strengths, valid_loss, sizes)
        ),
    )


def with_clusters(
    tree: Tree, frame: pd.DataFrame, n_clusters: int | None = None
) -> Tree:
    """Return a tree whose leaves, numbered from left to right, are its classes.

    The rows of ``frame`` are counted at every node; ``n_clusters`` are at least its
    leaves, None: as many.
    """
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        if tree.is_leaf[node]:
            order.append(node)
        else:
            stack += [tree.right[node], tree.left[node]]
    value = np.zeros((tree.n_nodes, n_clusters or len(order)))
    value[order, np.arange(len(order))] = 1
    tree = replace(
        tree,
        value=value,
        classes=tuple(range(value.shape[1])),
        class_counts=np.zeros(value.shape),
        target="cluster",
    )
    return tree.with_rows(frame, value.argmax(axis=1)[tree.apply(frame)])
