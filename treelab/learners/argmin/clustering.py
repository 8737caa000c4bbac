"""Hierarchical clustering by an argmin tree that teaches itself."""

import time
from dataclasses import replace

import numpy as np
import pandas as pd
import torch
from sklearn.base import ClusterMixin
from sklearn.utils import check_random_state

from treelab.data.encoding.table_encoder import TableEncoder
from treelab.evaluation.metrics import dendrogram_purity
from treelab.learners.argmin.export import TreeWriter, candidates
from treelab.learners.argmin.fit import STRENGTHS, check_common, check_rows, fit_trees
from treelab.learners.argmin.network import ArgminTrees, Rows
from treelab.learners.argmin.path import size_of
from treelab.learners.argmin.starts import kmeans_splits
from treelab.learners.common.base import VALIDATION_SHARE, TableEstimator, TrainingData
from treelab.learners.common.device import resolve_device
from treelab.trees.pruning.path import PruningPath
from treelab.trees.pruning.simplify import prune_empty
from treelab.trees.tree import Tree

MOST_CATEGORIES = 50  # a category column with more says nothing about a row's cluster


class ArgminTreeClusterer(ClusterMixin, TableEstimator):
    """Clusters in a hierarchy: a tree that predicts columns of the table from others.

    No labels are needed. Every leaf tells one value for each target column, so rows
    come together that are alike in what the tree predicts; a leaf is a cluster, and
    what lies under a split is a cluster of clusters. Splits start as those of
    hierarchical k-means; then all of them are trained together.

    Source: Zantedeschi, Kusner and Niculae, "Learning binary decision trees by argmin
    differentiation", ICML 2021, arXiv:2010.04627, section 5.

    Parameters
    ----------
    depth : int, default=4
        Splits on every path before pruning, 1 to 8.
    target_columns : None, "each" or sequence of str, default=None
        What the tree predicts. None: it sees all columns and tells all of them, as
        k-means does. "each": every column from the others; in training a row hides
        one column after the other, which must be told along with the rest. Names:
        these columns from all the others.
    pruning_strength : float or ascending sequence of float
        Price of activity (lambda), at least 0. All train as one batch; the one with
        the lowest validation loss is chosen. Default: ten strengths, 0 to 10,000.
    formulation : {"ridge", "preference"}, default="ridge"
        What activity costs; see ``ArgminTreeClassifier``.
    learning_rate : float, default=0.02
        Of quasi-hyperbolic Adam; cut by 10 when the validation loss stays.
    max_epochs : int, default=300
        Passes over the rows, at least 1.
    batch_size : int, default=512
        Rows a step.
    patience : int, default=50
        Epochs without a better validation loss before training ends.
    random_state : int, RandomState instance or None, default=None
        Seeds the first splits, the batches and the rows held out.
    device : str, default="auto"
        "auto", "cpu", "cuda" or "cuda:N".

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
    history_ : DataFrame
        Losses of the leading strength after each epoch, in standard deviations of the
        target columns, squared.
    """

    def __init__(
        self,
        depth=4,
        *,
        target_columns=None,
        pruning_strength=STRENGTHS,
        formulation="ridge",
        learning_rate=0.02,
        max_epochs=300,
        batch_size=512,
        patience=50,
        random_state=None,
        device="auto",
    ):
        self.depth = depth
        self.target_columns = target_columns
        self.pruning_strength = pruning_strength
        self.formulation = formulation
        self.learning_rate = learning_rate
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.patience = patience
        self.random_state = random_state
        self.device = device

    def fit(self, X, y=None, *, X_valid=None, callbacks=()):
        """Cluster the rows of ``X`` (n_rows, n_columns).

        ``X_valid`` stops the training and chooses the strength; a fifth of the rows is
        held out of ``X`` where it is not given. ``y`` (n_rows,) may hold known labels;
        no tree sees them, only the purity in ``path_.scores`` is measured by them.
        Return self.
        """
        started = time.monotonic()
        strengths = check_common(self)
        device = resolve_device(self.device)
        frame = self._read_frame(X, reset=True)
        targets = self._columns_to_tell(frame)
        if X_valid is None:
            train, valid = self._parts(len(frame))
            train, valid = frame.iloc[train], frame.iloc[valid]
        else:
            train, valid = frame, self._read_frame(X_valid, reset=False)
        check_rows(self.depth, len(train))
        seen = [name for name in frame.columns if name not in targets]
        data, tell = _encode(train, valid, seen or targets, targets)
        network, generator = self._build(data, tell, strengths, device)
        writer = TreeWriter(
            data, None, center=0.0, scale=1.0, reads_leaf=False, uses_x=False
        )

        def export(index: int) -> Tree:
            return prune_empty(writer.write(candidates(network)[index])[0])

        result, self.history_ = fit_trees(
            network,
            self,
            generator,
            snapshot=lambda leader: _with_clusters(export(leader), None, frame),
            callbacks=callbacks,
            started=started,
        )
        self.n_epochs_ = result.epochs
        trees = [export(i) for i in range(len(strengths))]
        sizes = [size_of(tree, network.n_nodes) for tree in trees]
        if y is not None:
            for size, tree in zip(sizes, trees):
                found = dendrogram_purity(tree.parent, tree.apply(frame), y)
                size["purity"] = found
        most = max(tree.n_leaves for tree in trees)
        self.model_ = PruningPath(
            strengths=strengths,
            trees=[_with_clusters(tree, most, frame) for tree in trees],
            predictors=[None] * len(trees),
            chosen=result.best,
            scores=pd.DataFrame(
                {"strength": strength, "valid_loss": float(loss)} | size
                for strength, loss, size in zip(strengths, result.best_loss, sizes)
            ),
        )
        self.labels_ = self._cluster_of(frame)
        self.n_clusters_ = self.tree_.n_leaves
        return self

    @property
    def path_(self) -> PruningPath:
        """The trees of all strengths, the chosen one among them."""
        return self.model_

    @property
    def tree_(self) -> Tree:
        """The tree of the chosen strength, in the units of ``X``."""
        return self.model_.tree

    def predict(self, X) -> np.ndarray:
        """Return the cluster, int64 (n_rows,), of each row of ``X``."""
        return self._cluster_of(self._predict_frame(X))

    def _cluster_of(self, frame: pd.DataFrame) -> np.ndarray:
        """Cluster of each row of a table that was checked."""
        return self.tree_.value.argmax(axis=1)[self.tree_.apply(frame)]

    def _columns_to_tell(self, frame: pd.DataFrame) -> list[str]:
        """The target columns; refuse tables and choices that leave nothing to learn."""
        columns = list(frame.columns)
        if len(columns) < 2:
            raise ValueError(
                "Clustering needs at least 2 columns, got 1 feature(s): a tree learns "
                "one column from another."
            )
        if self.target_columns is None or self._hides:
            return columns
        if isinstance(self.target_columns, str):
            raise ValueError(
                "target_columns must be None, 'each' or a list of column names, got "
                f"{self.target_columns!r}."
            )
        targets = list(self.target_columns)
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

    @property
    def _hides(self) -> bool:
        """Whether each column is told from the others."""
        return isinstance(self.target_columns, str) and self.target_columns == "each"

    def _parts(self, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        """Row numbers to train and to validate on; the same ones in a tiny table."""
        rng = check_random_state(self.random_state)
        order = rng.permutation(n_rows)
        n_valid = round(n_rows * VALIDATION_SHARE)
        if n_rows < 10:
            return order, order
        return np.sort(order[n_valid:]), np.sort(order[:n_valid])

    def _build(self, data: TrainingData, tell: TableEncoder, strengths, device):
        """The network with its rows, and the generator of batches."""
        told = tell.transform(data.frame[list(tell.columns_)])
        told_valid = tell.transform(data.frame_valid[list(tell.columns_)])
        seed = int(check_random_state(self.random_state).randint(2**31))

        def rows(x, y) -> Rows:
            x, y = (
                torch.tensor(part, dtype=torch.float32, device=device)
                for part in (x.T.copy(), y)
            )
            return Rows(x, y, torch.ones(len(y), device=device))

        network = ArgminTrees(
            torch.tensor(strengths, dtype=torch.float32, device=device),
            self.depth,
            rows(data.X, told),
            rows(data.X_valid, told_valid),
            told.shape[1],
            loss_scale=1.0,
            batch_size=min(self.batch_size, len(told)),
            formulation=self.formulation,
            hidden=(),
            reads_leaf=True,
            uses_x=False,
            dropout=0.0,
            split="linear",
            generator=torch.Generator().manual_seed(seed),
            splits=kmeans_splits(data.X, self.depth, seed),
            columns=_columns(data.encoder) if self._hides else None,
        )
        return network, torch.Generator(device).manual_seed(seed)


def _columns(encoder: TableEncoder) -> np.ndarray:
    """Which features belong to each of J columns, bool (J, F)."""
    owner = np.array([feature.column for feature in encoder.features_])
    return np.unique(owner)[:, None] == owner


def _encode(train, valid, seen: list[str], targets: list[str]):
    """What the tree sees, as TrainingData, and the encoder of what it tells."""
    nothing = np.zeros(len(train))
    see, tell = (
        TableEncoder("zscore", task="regression", one_hot_max=MOST_CATEGORIES)
        for _ in range(2)
    )
    data = TrainingData(
        encoder=see,
        X=see.fit_transform(train[seen], nothing),
        y=nothing,
        X_valid=see.transform(valid[seen]),
        y_valid=np.zeros(len(valid)),
        frame=train,
        frame_valid=valid,
        n_outputs=1,
    )
    tell.fit_transform(train[targets], nothing)
    return data, tell


def _with_clusters(tree: Tree, n_clusters: int | None, frame: pd.DataFrame) -> Tree:
    """Number the leaves from left to right and let each say its number."""
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
