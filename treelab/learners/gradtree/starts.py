"""Where trees start: a greedy tree with rival features at each split, or at random."""

from dataclasses import dataclass

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from treelab.learners.common.constrained.column_rules import ColumnRules
from treelab.learners.common.constrained.greedy import Limits, grow_constrained
from treelab.learners.gradtree.constrained.rivals import Rivals, random_columns
from treelab.learners.gradtree.hard_tree import HardTree

RIVALS = 4  # features that a split chooses from while it trains, its own among them
RANDOM_RIVALS = 16  # of a random start, which knows nothing of them
MOST_ROWS = 256  # of a node, that rank its features
# Logit of a feature that would gain nothing; the greedy one has 0, others lie between.
NO_GAIN = -6.0
GREEDY_LEAD = 0.1
SPREAD = 0.5  # standard deviation of a random start's logits
NEVER = -1000.0  # logit of a place that no feature fills


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
    weight : ndarray of shape (n,) or None, default=None
        None: all rows alike.
    rules : ColumnRules or None, default=None
        What constraints say of the columns.
    """

    x: np.ndarray
    y: np.ndarray
    values: np.ndarray
    max_depth: int
    weight: np.ndarray | None = None
    rules: ColumnRules | None = None

    def grow(
        self, n_leaves: int, min_samples_leaf: int, weight: np.ndarray | None, random
    ) -> HardTree:
        """Grow a greedy tree, best split first, within the constraints."""
        if self.rules is not None:
            limits = Limits(n_leaves, self.max_depth, min_samples_leaf)
            return HardTree.of_sklearn(
                grow_constrained(self.x, self.values, weight, self.rules, limits)
            )
        is_classes = np.issubdtype(self.y.dtype, np.integer)
        grower = DecisionTreeClassifier if is_classes else DecisionTreeRegressor
        grown = grower(
            max_leaf_nodes=n_leaves,
            max_depth=self.max_depth,
            min_samples_leaf=min_samples_leaf,
            random_state=random,
        ).fit(self.x, self.y, sample_weight=weight)
        return HardTree.of_sklearn(grown.tree_)


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
    weight = rows.weight
    if resampled:
        drawn = random.exponential(size=len(rows.y))
        weight = drawn if weight is None else weight * drawn
    tree = rows.grow(n_leaves, min_samples_leaf, weight, random)
    splits = tree.splits
    offered = None if rows.rules is None else Rivals(tree, rows.rules)
    n_columns = min(RIVALS, rows.x.shape[1])
    columns = np.zeros((len(splits), n_columns), dtype=np.int64)
    threshold = np.zeros(columns.shape, dtype=np.float32)
    logits = np.zeros(columns.shape, dtype=np.float32)
    passes = tree.decision_path(rows.x)
    for place, node in enumerate(splits.tolist()):
        here = passes.indices[passes.indptr[node] : passes.indptr[node + 1]]
        if len(here) > MOST_ROWS:
            here = random.choice(here, MOST_ROWS, replace=False)
        gain, best = best_thresholds(rows.x[here], rows.values[here])
        own = tree.feature[node]
        best[own] = tree.threshold[node]
        most = max(gain.max(), 1e-12)
        gain[own] = np.inf
        chosen = np.argsort(-gain, kind="stable")
        if offered is not None:
            chosen = offered.choose(place, chosen, n_columns)
        chosen = chosen[:n_columns]
        # Where fewer may be tested, the first one stands in for the others.
        filled = np.resize(chosen, n_columns)
        columns[place], threshold[place] = filled, best[filled]
        logits[place] = NO_GAIN * (1 - np.clip(gain[filled] / most, 0, 1))
        logits[place, 0] = GREEDY_LEAD
        logits[place, len(chosen) :] = NEVER
    return Start("greedy", tree, columns, threshold, logits)


def random_start(
    rows: StartRows, depth: int, random: np.random.RandomState
) -> Start | None:
    """Draw a complete tree: features at random, thresholds from their values.

    None where constraints leave a level without any feature.
    """
    n_rows, n_features = rows.x.shape
    n_splits = 2**depth - 1
    n_columns = min(RANDOM_RIVALS, n_features)
    ranking = random.random_sample((n_splits, n_features))
    if rows.rules is not None:
        may = random_columns(rows.rules, depth, random)  # (S, F)
        n_columns = min(n_columns, int(may.sum(axis=1).min()))
        if n_columns == 0:
            return None
        ranking = np.where(may, ranking, 2.0)
    columns = np.argsort(ranking, axis=1)[:, :n_columns]
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
