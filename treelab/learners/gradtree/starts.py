"""Where trees start: a greedy tree with rival features at each split, or at random."""

from dataclasses import dataclass

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from treelab.learners.gradtree.hard_tree import HardTree

RIVALS = 4  # features that a split chooses from while it trains, its own among them
RANDOM_RIVALS = 16  # of a random start, which knows nothing of them
MOST_ROWS = 256  # of a node, that rank its features
# Logit of a feature that would gain nothing; the greedy one has 0, others lie between.
NO_GAIN = -6.0
GREEDY_LEAD = 0.1
SPREAD = 0.5  # standard deviation of a random start's logits


@dataclass(frozen=True)
class Start:
    """A tree before the first step: its shape, and what each split chooses from.

    Attributes
    ----------
    kind : {"greedy", "random"}
    tree : HardTree
        With the features and thresholds of the first choices.
    columns : int64 array of shape (S, K)
        Features that each split chooses from, splits in the order of the nodes.
    threshold, logits : float32 arrays of shape (S, K)
        Of each of them.
    """

    kind: str
    tree: HardTree
    columns: np.ndarray
    threshold: np.ndarray
    logits: np.ndarray

    def first(self, n_leaves: int) -> "Start":
        """Return the part of a greedy start that had grown to ``n_leaves`` leaves."""
        tree, splits = self.tree.first(n_leaves)
        return Start(
            self.kind,
            tree,
            self.columns[splits],
            self.threshold[splits],
            self.logits[splits],
        )


@dataclass(frozen=True)
class StartRows:
    """Encoded rows that starts are made from.

    Attributes
    ----------
    x : ndarray of shape (n, F), float32
    y : ndarray of shape (n,)
        Class codes (int), or values (float).
    values : ndarray of shape (n, C)
        Indicators of the classes, or the values.
    max_depth : int
    """

    x: np.ndarray
    y: np.ndarray
    values: np.ndarray
    max_depth: int


def greedy_start(
    rows: StartRows,
    n_leaves: int,
    min_samples_leaf: int,
    random: np.random.RandomState,
    *,
    resampled: bool = False,
) -> Start:
    """Grow a greedy tree, best split first, and rank the rivals of each split.

    Each feature stands with the threshold that gains most among the rows of its node,
    so that a split which changes its feature lands on a good threshold. Where
    ``resampled``, the tree grows on rows that are weighted by the Bayesian bootstrap
    (Rubin, 1981), so that restarts begin apart.
    """
    is_classes = np.issubdtype(rows.y.dtype, np.integer)
    grower = DecisionTreeClassifier if is_classes else DecisionTreeRegressor
    weight = random.exponential(size=len(rows.y)) if resampled else None
    grown = grower(
        max_leaf_nodes=n_leaves,
        max_depth=rows.max_depth,
        min_samples_leaf=min_samples_leaf,
        random_state=random,
    ).fit(rows.x, rows.y, sample_weight=weight)
    tree = HardTree.of_sklearn(grown.tree_)
    splits = tree.splits
    n_columns = min(RIVALS, rows.x.shape[1])
    columns = np.zeros((len(splits), n_columns), dtype=np.int64)
    threshold = np.zeros(columns.shape, dtype=np.float32)
    logits = np.zeros(columns.shape, dtype=np.float32)
    passes = grown.decision_path(rows.x).tocsc()
    for place, node in enumerate(splits.tolist()):
        here = passes.indices[passes.indptr[node] : passes.indptr[node + 1]]
        if len(here) > MOST_ROWS:
            here = random.choice(here, MOST_ROWS, replace=False)
        gain, best = best_thresholds(rows.x[here], rows.values[here])
        own = tree.feature[node]
        best[own] = tree.threshold[node]
        most = max(gain.max(), 1e-12)
        gain[own] = np.inf
        chosen = np.argsort(-gain, kind="stable")[:n_columns]
        columns[place], threshold[place] = chosen, best[chosen]
        logits[place] = NO_GAIN * (1 - np.clip(gain[chosen] / most, 0, 1))
        logits[place, 0] = GREEDY_LEAD
    return Start("greedy", tree, columns, threshold, logits)


def random_start(rows: StartRows, depth: int, random: np.random.RandomState) -> Start:
    """Draw a complete tree: features at random, thresholds from their values."""
    n_rows, n_features = rows.x.shape
    n_splits = 2**depth - 1
    n_columns = min(RANDOM_RIVALS, n_features)
    ranked = np.argsort(random.random_sample((n_splits, n_features)), axis=1)
    columns = ranked[:, :n_columns]
    threshold = rows.x[random.randint(n_rows, size=columns.shape), columns]
    logits = (SPREAD * random.standard_normal(columns.shape)).astype(np.float32)
    first = np.arange(n_splits), logits.argmax(1)
    tree = HardTree.complete(columns[first], threshold[first])
    return Start("random", tree, columns, threshold, logits)


def best_thresholds(x: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return, of each feature, the largest gain of one split and its threshold.

    Parameters
    ----------
    x : ndarray of shape (n, F)
    target : ndarray of shape (n, C)
        Indicators of classes, or values.

    Returns
    -------
    gain : ndarray of shape (F,)
        Fall of the summed squared error of the indicators (Gini) or the values; 0
        where a feature has one value only.
    threshold : ndarray of shape (F,)
    """
    n_rows = len(x)
    features = np.arange(x.shape[1])
    if n_rows < 2:
        return np.zeros(len(features)), x[0].copy()
    order = np.argsort(x, axis=0, kind="stable")
    ascending = np.take_along_axis(x, order, axis=0)
    left = np.cumsum(target[order], axis=0)[:-1]  # (n - 1, F, C)
    total = target.sum(axis=0)
    n_left = np.arange(1, n_rows)[:, None]
    explained = (left**2).sum(-1) / n_left
    explained += ((total - left) ** 2).sum(-1) / (n_rows - n_left)
    explained[ascending[1:] == ascending[:-1]] = -np.inf
    place = explained.argmax(axis=0)
    gain = explained[place, features] - (total**2).sum() / n_rows
    threshold = (ascending[place, features] + ascending[place + 1, features]) / 2
    return np.where(np.isfinite(gain), np.maximum(gain, 0), 0), threshold
