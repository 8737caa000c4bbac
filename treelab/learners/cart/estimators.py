"""CART: the greedy tree, scikit-learn's, exported as ours."""

import numpy as np
from sklearn.tree import (
    BaseDecisionTree,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)

from treelab.learners.cart.settings import CartSettings
from treelab.learners.common.base import TrainingData
from treelab.learners.common.grown_tree import (
    GrownClassifier,
    GrownRegressor,
    GrownTree,
)
from treelab.trees.tree import Tree


class _Cart(GrownTree):
    """What the classifier and the regressor share."""

    _settings = CartSettings

    def _grower(self, settings: CartSettings) -> BaseDecisionTree:
        """Return scikit-learn's tree with our settings, not yet grown."""
        raise NotImplementedError

    def _grow(self, data: TrainingData, settings: CartSettings) -> Tree:
        """Grow scikit-learn's tree, rewritten in the user's columns and units."""
        grown = self._grower(settings).fit(data.X.astype(np.float32), data.y).tree_
        leaf = grown.children_left < 0
        feature = np.where(leaf, -1, grown.feature).astype(np.int32)
        threshold = np.full(grown.node_count, np.nan)
        missing_left = np.zeros(grown.node_count, dtype=bool)
        threshold[~leaf], missing_left[~leaf] = data.encoder.axis_splits(
            grown.feature[~leaf], grown.threshold[~leaf]
        )
        return Tree(
            features=data.encoder.features_,
            left=grown.children_left.astype(np.int32),
            right=grown.children_right.astype(np.int32),
            feature=feature,
            threshold=threshold,
            missing_left=missing_left,
            value=grown.value[:, 0, :].astype(np.float64),
            n_rows=grown.n_node_samples.astype(np.int64),
            impurity=grown.impurity.astype(np.float64),
            classes=self.labels(),
        )


class CartClassifier(_Cart, GrownClassifier):
    """Classification tree grown greedily, one split after another.

    Source: Breiman, Friedman, Olshen and Stone, "Classification and Regression
    Trees", 1984, in scikit-learn's implementation. Missing numbers take the
    training median, categories their cross-fitted target rate.

    Parameters
    ----------
    max_depth : int or None, default=None
        Splits on the longest path, 1 to 30; None grows until leaves are pure.
    min_samples_leaf : int, default=1
        Fewest training rows in a leaf, at least 1.
    ccp_alpha : float, default=0.0
        Cost-complexity pruning: impurity that a leaf must save, at least 0.
    class_weight : None, "balanced" or dict of label to weight, default=None
        Weight of a row of each class.
    random_state : int, RandomState instance or None, default=None
        Breaks ties between equally good splits.
    device : str, default="auto"
        Accepted for the common interface; a greedy tree is grown on the CPU.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree, thresholds in the units of ``X``.
    history_ : DataFrame
        One row: log loss on training and validation rows, seconds.
    """

    def __init__(
        self,
        max_depth=CartSettings.max_depth,
        *,
        min_samples_leaf=CartSettings.min_samples_leaf,
        ccp_alpha=CartSettings.ccp_alpha,
        class_weight=CartSettings.class_weight,
        random_state=None,
        device="auto",
    ):
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.ccp_alpha = ccp_alpha
        self.class_weight = class_weight
        self.random_state = random_state
        self.device = device

    def _grower(self, settings):
        """scikit-learn's tree with our settings."""
        return DecisionTreeClassifier(
            max_depth=settings.max_depth,
            min_samples_leaf=settings.min_samples_leaf,
            ccp_alpha=settings.ccp_alpha,
            class_weight=self._class_weight_by_code(),
            random_state=self.random_state,
        )


class CartRegressor(_Cart, GrownRegressor):
    """Regression tree grown greedily, one split after another.

    Source: Breiman, Friedman, Olshen and Stone, "Classification and Regression
    Trees", 1984, in scikit-learn's implementation. Missing numbers take the
    training median, categories their cross-fitted target mean.

    Parameters
    ----------
    max_depth : int or None, default=None
        Splits on the longest path, 1 to 30; None grows until leaves are pure.
    min_samples_leaf : int, default=1
        Fewest training rows in a leaf, at least 1.
    ccp_alpha : float, default=0.0
        Cost-complexity pruning: variance that a leaf must save, at least 0.
    random_state : int, RandomState instance or None, default=None
        Breaks ties between equally good splits.
    device : str, default="auto"
        Accepted for the common interface; a greedy tree is grown on the CPU.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree, thresholds in the units of ``X``.
    history_ : DataFrame
        One row: squared error on training and validation rows, seconds.
    """

    def __init__(
        self,
        max_depth=CartSettings.max_depth,
        *,
        min_samples_leaf=CartSettings.min_samples_leaf,
        ccp_alpha=CartSettings.ccp_alpha,
        random_state=None,
        device="auto",
    ):
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.ccp_alpha = ccp_alpha
        self.random_state = random_state
        self.device = device

    def _grower(self, settings):
        """scikit-learn's tree with our settings."""
        return DecisionTreeRegressor(
            max_depth=settings.max_depth,
            min_samples_leaf=settings.min_samples_leaf,
            ccp_alpha=settings.ccp_alpha,
            random_state=self.random_state,
        )
