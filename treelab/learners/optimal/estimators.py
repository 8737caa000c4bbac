"""Optimal tree: of all trees of a small depth the one with the lowest training loss.

The search is STreeD's, by dynamic programming (van der Linden, de Weerdt and Demirovic,
"Necessary and Sufficient Conditions for Optimal Decision Trees using Dynamic
Programming", NeurIPS 2023), in the package ``pystreed``, which the extra
``treelab[optimal]`` installs.
"""

from dataclasses import replace

import numpy as np

from treelab.data.encoding import Candidates, candidate_thresholds
from treelab.learners.common.base import TrainingData
from treelab.learners.common.settings import estimator
from treelab.learners.common.tuned_tree import (
    GrownClassifier,
    GrownRegressor,
    GrownTree,
)
from treelab.learners.optimal.settings import OptimalSettings
from treelab.training.events import Monitor
from treelab.trees.pruning import SizePath, path_of_sizes, simplify
from treelab.trees.tree import Tree
from treelab.trees.words import counted

MOST_COPIES = 1_000_000  # of all rows together, where weights count them


class _Optimal(OptimalSettings, GrownTree):
    """What the classifier and the regressor share.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree, thresholds in the units of ``X``; its notes say what is proven.
    path_ : SizePath
        The best tree of each depth from 1 to ``max_depth``, none cross-validated.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Impurity that the splits on each column of ``X`` remove, as a fraction of all.
    origin_ : Origin
        That the tree was found by search.
    proven_ : bool
        Whether no tree over the candidate thresholds has fewer training errors
        (a lower squared error).
    history_ : DataFrame
        One row: log loss, or squared error, on training and validation rows, seconds.
    """

    objective: str  # in STreeD's words
    _start = "search"

    def _grow(
        self, data: TrainingData, settings: OptimalSettings, monitor: Monitor
    ) -> SizePath:
        """Search the best tree of each depth up to the largest, which is the model.

        A search takes many times as long as that of one level less, so the shallower
        trees are nearly free. None is scored: cross-validation would search each five
        times more.
        """
        trees = [
            self._best_of(data, replace(settings, max_depth=depth))
            for depth in range(1, settings.max_depth + 1)
        ]
        sizes = np.minimum(
            2 ** np.arange(1, settings.max_depth + 1), settings.max_leaf_nodes or 2**31
        )
        unknown = np.full(len(trees), np.nan)
        return path_of_sizes(trees, sizes, unknown, unknown, len(trees) - 1)

    def _best_of(self, data: TrainingData, settings: OptimalSettings) -> Tree:
        """Search the best tree of a depth; written in the user's columns and units."""
        X, y = _repeated(data)
        least = min(settings.min_samples_leaf, len(y))  # of all rows there is one leaf
        settings = replace(settings, min_samples_leaf=least)
        candidates = candidate_thresholds(X, settings.n_thresholds)
        root, self.proven_ = self._search(candidates, X, y, settings)
        feature, threshold = _complete(root, candidates, settings.max_depth)
        # A split that sends every row left stands below a leaf; it is dropped later.
        used = np.isfinite(threshold)
        raw = threshold.copy()
        missing_left = np.ones(len(threshold), dtype=bool)
        raw[used], missing_left[used] = data.encoder.axis_splits(
            feature[used], threshold[used], dtype=np.float64
        )
        tree = Tree.complete(
            data.encoder.features_,
            feature,
            raw,
            missing_left,
            np.zeros((len(feature) + 1, data.n_outputs)),
            classes=self.labels(),
            notes=(self._note(data, settings),),
        )
        return simplify(self._with_rows(tree, data))

    def _search(self, candidates: Candidates, X, y, settings: OptimalSettings):
        """Run STreeD; return its root and whether no better tree exists."""
        most_leaves = 2**settings.max_depth
        if settings.max_leaf_nodes is not None:
            most_leaves = min(most_leaves, settings.max_leaf_nodes)
        solver = _solvers()[self.objective](
            self.objective,
            max_depth=settings.max_depth,
            max_num_nodes=most_leaves - 1,
            min_leaf_node_size=settings.min_samples_leaf,
            # STreeD ends the whole process where a number is larger than it takes.
            time_limit=min(settings.time_limit, 2**31 - 1),
            random_seed=self._draw_seed(),
        )
        right = candidates.right(X)
        if right.shape[1] == 0:  # constant columns: the tree is one leaf
            right = np.zeros((len(right), 1), dtype=np.int32)
        solver.fit(right, y)
        if not solver.is_fitted():
            raise ValueError(
                f"No tree was found in {settings.time_limit:g} seconds with "
                f"min_samples_leaf={settings.min_samples_leaf}. Allow more time_limit, "
                "a smaller max_depth or fewer n_thresholds."
            )
        return solver.get_tree(), bool(solver.fit_result.is_optimal())

    def _note(self, data: TrainingData, settings: OptimalSettings) -> str:
        """Say what was proven, over which trees."""
        limits = []
        if settings.max_leaf_nodes is not None:
            limits.append(f"at most {settings.max_leaf_nodes} leaves")
        if (least := settings.min_samples_leaf) > 1:
            limits.append(f"at least {least:,} rows in a leaf")
        trees = f"trees of depth {settings.max_depth}"
        trees += " with " * bool(limits) + " and ".join(limits)
        thresholds = counted(settings.n_thresholds, "candidate threshold")
        trees += f" over at most {thresholds} a column"
        if not np.array_equal(data.X, data.encoder.transform(data.frame)):
            # By the scores of all rows another tree may have fewer errors.
            trees += ", where categories are target rates of the rows of other folds"
        if self.proven_:
            return f"Proven best on the training rows among {trees}."
        time = f"{settings.time_limit:g} seconds"
        return f"Best found in {time} among {trees}; not proven."


@estimator
class OptimalTreeClassifier(_Optimal, GrownClassifier):
    """Classification tree with the fewest training errors of all of its depth.

    Candidate thresholds are quantiles of each column, so the proof is about trees over
    these. Missing numbers take the training median, categories their cross-fitted
    target rate. A ``sample_weight`` is a whole number, how often the row counts, in
    ``min_samples_leaf`` as well. The search holds the interpreter until ``time_limit``.

    Source: van der Linden, de Weerdt and Demirovic, NeurIPS 2023 (STreeD).
    """

    objective = "accuracy"


@estimator
class OptimalTreeRegressor(_Optimal, GrownRegressor):
    """Regression tree with the lowest squared training error of all of its depth.

    Candidate thresholds are quantiles of each column, so the proof is about trees over
    these. Missing numbers take the training median, categories their cross-fitted
    target mean. A ``sample_weight`` is a whole number, how often the row counts, in
    ``min_samples_leaf`` as well. The search holds the interpreter until ``time_limit``.

    Source: van den Bos, van der Linden and Demirovic, "Piecewise Constant and Linear
    Regression Trees: An Optimal Dynamic Programming Approach", ICML 2024 (STreeD).
    """

    objective = "regression"


def _solvers() -> dict[str, type]:
    """Return STreeD's estimators by objective; ImportError says how to install it."""
    try:
        from pystreed import STreeDClassifier, STreeDRegressor
    except ImportError as error:
        raise ImportError(
            "Optimal trees need the package pystreed: pip install 'pystreed>=1.4,<2'."
        ) from error
    return {"accuracy": STreeDClassifier, "regression": STreeDRegressor}


def _repeated(data: TrainingData) -> tuple[np.ndarray, np.ndarray]:
    """Return encoded features and targets, each row as often as it weighs.

    ValueError if weights are no counts: the search knows none.
    """
    if data.weight is None:
        return data.X, data.y
    wrong = data.weight != np.rint(data.weight)
    if wrong.any():
        raise ValueError(
            "Optimal trees take sample_weight in whole numbers, as their search counts "
            f"rows, got {data.weight[wrong][0]:g}. Give counts; CART takes any weight."
        )
    n_copies = data.weight.sum()
    if n_copies > max(MOST_COPIES, len(data.y)):
        raise ValueError(
            "Optimal trees count a row as often as its sample_weight says, together "
            f"{n_copies:,.0f} rows, and at most {MOST_COPIES:,} are searched. Divide "
            "the weights by a common factor; CART takes any weight."
        )
    times = data.weight.astype(np.int64)
    return np.repeat(data.X, times, axis=0), np.repeat(data.y, times, axis=0)


def _complete(root, candidates: Candidates, depth: int):
    """Lay STreeD's tree into a complete one, breadth first: features, thresholds (N,).

    Thresholds are in encoded numbers; infinite below a leaf, where every row goes left.
    """
    feature = np.zeros(2**depth - 1, dtype=np.int64)
    threshold = np.full(2**depth - 1, np.inf)
    waiting = [(root, 0)]
    while waiting:
        node, place = waiting.pop()
        if node.is_branching_node():
            feature[place] = candidates.feature[node.feature]
            threshold[place] = candidates.threshold[node.feature]
            waiting.append((node.left_child, 2 * place + 1))
            waiting.append((node.right_child, 2 * place + 2))
    return feature, threshold
