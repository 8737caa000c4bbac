"""Where GRANDE's trees start: at random, or as the trees of a random forest."""

from dataclasses import dataclass

import numpy as np
import torch
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.parallel import Parallel, delayed
from torch import Tensor

from treelab.learners.starts import plant, random_splits

MAX_COLUMNS = 64  # features that a tree of a forest may use, where a table has more
MOST_ROWS = 5_000  # a forest's tree is grown on so many rows at most
LEAF_ROWS = 5  # fewest rows in a leaf of such a tree
PRIOR = 1.0  # rows' worth of the overall mean that every leaf holds
SPREAD = 0.05  # standard deviation of random leaf values and weights


@dataclass(frozen=True)
class Starts:
    """Parameters of E trees before the first step.

    Attributes
    ----------
    logits, threshold : Tensor of shape (E, N, K)
    leaf_value : Tensor of shape (E, L, C)
    columns : LongTensor of shape (E, K) or None
        Features that each tree may use; None: all, in order.
    """

    logits: Tensor
    threshold: Tensor
    leaf_value: Tensor
    columns: Tensor | None


def random_starts(
    x: Tensor,
    n_trees: int,
    *,
    depth: int,
    n_columns: int,
    n_outputs: int,
    generator: torch.Generator,
) -> Starts:
    """Draw features, thresholds from the values of the rows ``x``, and leaf values."""
    options = {"generator": generator, "device": x.device}
    columns = None
    if n_columns < x.shape[1]:
        order = torch.rand(n_trees, x.shape[1], **options).argsort(1)
        columns = order[:, :n_columns].sort(1).values
    n_splits = 2**depth - 1
    logits, threshold = random_splits(x, n_trees, n_splits, generator, columns=columns)
    shape = (n_trees, n_splits + 1, n_outputs)
    return Starts(logits, threshold, SPREAD * torch.randn(shape, **options), columns)


def forest_starts(
    x: Tensor,
    y: np.ndarray,
    weight: np.ndarray,
    *,
    group: np.ndarray,
    depth: int,
    n_columns: int,
    n_classes: int,
    generator: torch.Generator,
    seed: int,
) -> Starts:
    """Start every tree as one of a random forest, grown on its own group's rows.

    Each is a greedy tree on a bootstrap of the rows, looking at a random few of its
    columns at every split. Splits below its leaves start at random.

    Parameters
    ----------
    x : Tensor of shape (n, F)
        Encoded training rows.
    y : ndarray of shape (n,)
        Class codes, or standardised values.
    weight : ndarray of shape (G, n)
        What each row counts for each group of trees; 0 where the group holds it out.
    group : ndarray of shape (E,)
        Group of each tree.
    n_columns : int
        Features that a tree may use. Of more than `MAX_COLUMNS` it keeps those that
        the greedy tree tests and random others.
    n_classes : int
        0 for regression.
    """
    n_outputs = n_classes if n_classes > 2 else 1
    n_features, n_trees = x.shape[1], len(group)
    random = np.random.RandomState(seed)
    rows = x.cpu().numpy()
    target = np.eye(n_classes)[y] if n_classes else y[:, None]
    overall = (weight @ target) / weight.sum(1, keepdims=True)  # (G, C)
    seeds = random.randint(2**31, size=n_trees)
    grown = Parallel(n_jobs=torch.get_num_threads(), prefer="threads")(
        delayed(_grow)(
            rows,
            y,
            weight[g],
            overall[g],
            depth=depth,
            n_columns=n_columns,
            n_classes=n_classes,
            seed=tree_seed,
        )
        for g, tree_seed in zip(group, seeds)
    )
    n_offered = n_columns if n_columns <= MAX_COLUMNS else MAX_COLUMNS
    columns = None
    if n_offered < n_features:
        rank = random.random_sample((n_trees, n_features))
        for e, (offered, feature, *_) in enumerate(grown):
            rank[e, offered] -= 1
            rank[e, feature[feature >= 0]] -= 1  # its own splits are among them
        columns = np.sort(rank.argsort(1)[:, :n_offered], 1)
        columns = torch.as_tensor(columns, device=x.device)
    logits, threshold = random_splits(
        x, n_trees, 2**depth - 1, generator, columns=columns
    )
    for e, (_, feature, bound, _) in enumerate(grown):
        offered = None if columns is None else columns[e]
        plant(logits[e], threshold[e], feature, bound, offered)
    value = np.stack([told for *_, told in grown])  # (E, L, C)
    leaf_value = torch.as_tensor(value[..., -n_outputs:], dtype=x.dtype)
    return Starts(logits, threshold, leaf_value.to(x.device), columns)


def _grow(x, y, weight, overall, *, depth, n_columns, n_classes, seed):
    """Grow one tree of a forest.

    Returns its columns, the complete tree's features and thresholds (N,), see
    `lay_out`, and what its leaves say (L, C): logits, or values.
    """
    random = np.random.RandomState(seed)
    columns = np.arange(x.shape[1])
    if n_columns < len(columns):
        columns = np.sort(random.permutation(len(columns))[:n_columns])
    own = np.flatnonzero(weight > 0)
    rows = own[random.randint(len(own), size=min(len(own), MOST_ROWS))]
    grower = DecisionTreeClassifier if n_classes else DecisionTreeRegressor
    # As forests have it: few features a split make classifiers' trees unlike.
    few = "sqrt" if n_classes else 1 / 3
    tree = grower(
        max_depth=depth, min_samples_leaf=LEAF_ROWS, max_features=few, random_state=seed
    )
    tree.fit(x[np.ix_(rows, columns)], y[rows], sample_weight=weight[rows])
    feature, threshold, source = lay_out(tree.tree_, depth)
    feature = np.where(feature >= 0, columns[feature], -1)
    told = tree.tree_.value[source, 0]  # (L, classes that it saw)
    if n_classes:
        shares = np.zeros((len(told), n_classes))
        shares[:, tree.classes_] = told
        told = shares
    size = tree.tree_.weighted_n_node_samples[source, None]
    told = (size * told + PRIOR * overall) / (size + PRIOR)
    if n_classes:
        told = np.log(np.maximum(told, 1e-6))
        told -= told[:, :1] if n_classes == 2 else told.mean(1, keepdims=True)
    return columns, feature, threshold, told


def lay_out(tree, depth: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lay a greedy tree into a complete one.

    Parameters
    ----------
    tree : sklearn.tree._tree.Tree
        At most `depth` deep.

    Returns
    -------
    feature : ndarray of shape (N,), int64
        Breadth first; -1 below the tree's leaves, where nothing is split.
    threshold : ndarray of shape (N,), float32
        Parts float32 values as the tree does; NaN where nothing is split.
    source : ndarray of shape (L,), int64
        Node of `tree` that each leaf of the complete tree stands for.
    """
    feature = np.empty(2**depth - 1, dtype=np.int64)
    threshold = np.empty(2**depth - 1, dtype=np.float32)
    source = np.zeros(1, dtype=np.int64)
    for level in range(depth):
        nodes = slice(2**level - 1, 2 ** (level + 1) - 1)
        ends = tree.children_left[source] < 0
        feature[nodes] = np.where(ends, -1, tree.feature[source])
        exact = tree.threshold[source]
        single = exact.astype(np.float32)
        below = np.nextafter(single, np.float32(-np.inf))
        threshold[nodes] = np.where(
            ends, np.nan, np.where(single > exact, below, single)
        )
        left = np.where(ends, source, tree.children_left[source])
        right = np.where(ends, source, tree.children_right[source])
        source = np.stack([left, right], 1).ravel()
    return feature, threshold, source
