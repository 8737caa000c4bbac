"""CART: the greedy tree, scikit-learn's, tuned by cross-validation and exported."""

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from treelab.learners.cart.fit import CartFit
from treelab.learners.cart.settings import CartSettings
from treelab.learners.cart.tuning import POWERS
from treelab.learners.common.constrained.setting import growing_weights
from treelab.learners.common.grown_tree import GrownClassifier, GrownRegressor
from treelab.trees.constraints.keeping import cost_matrix, votes


class CartClassifier(CartFit, GrownClassifier):
    """Classification tree grown greedily, one split after another.

    Source: Breiman, Friedman, Olshen and Stone, "Classification and Regression
    Trees", 1984, in scikit-learn's implementation. Missing numbers take the
    training median, categories their cross-fitted target rate.

    Parameters
    ----------
    tune : bool, default=True
        Whether 5-fold cross-validation chooses depth, leaf size, class weights and
        number of leaves, within the parameters below: the smallest tree within one
        standard error of the best macro F1. Off, or with fewer than 10 rows, it is
        scikit-learn's plain tree with the parameters below. Validation rows given
        to ``fit`` are trained on as well where it is tuned.
    max_depth : int or None, default=None
        Splits on the longest path, 1 to 30; None sets no limit.
    min_samples_leaf : int, default=1
        Fewest training rows in a leaf, at least 1; tuning tries larger numbers, too.
    max_leaf_nodes : int or None, default=None
        Most leaves, 2 to 10,000; None sets no limit.
    ccp_alpha : float, default=0.0
        Cost-complexity pruning: impurity that a leaf must save, at least 0.
    class_weight : "auto", None, "balanced" or dict of label to weight, default="auto"
        Weight of a row of each class. "auto" grows with equal weights and lets tuning
        choose the weights in the leaves, powers from 0 to 1 of the balanced ones;
        without tuning it is None.
    constraints : Constraints, dict or None, default=None
        What must hold on every possible row: monotone columns, columns by level or
        together, their number and cost, rows a leaf, costs of errors.
    random_state : int, RandomState instance or None, default=None
        Breaks ties between equally good splits.
    device : str, default="auto"
        Accepted for the common interface; a greedy tree is grown on the CPU.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree, thresholds in the units of ``X``.
    path_ : SizePath
        The best tree at each number of leaves, with its cross-validated score; of a
        tree that is not tuned its cost-complexity prunings, without scores.
    best_params_ : dict
        Settings that the tree was grown with, those that tuning chose among them.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Impurity that the splits on each column of ``X`` remove, as a fraction of all.
    origin_ : Origin
        That the tree was grown greedily.
    history_ : DataFrame
        One row: log loss on training rows, and on validation rows where they were
        given and nothing was tuned; seconds.
    """

    def __init__(
        self,
        max_depth=CartSettings.max_depth,
        *,
        tune=CartSettings.tune,
        min_samples_leaf=CartSettings.min_samples_leaf,
        max_leaf_nodes=CartSettings.max_leaf_nodes,
        ccp_alpha=CartSettings.ccp_alpha,
        class_weight=CartSettings.class_weight,
        constraints=CartSettings.constraints,
        random_state=None,
        device="auto",
    ):
        self.max_depth = max_depth
        self.tune = tune
        self.min_samples_leaf = min_samples_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.ccp_alpha = ccp_alpha
        self.class_weight = class_weight
        self.constraints = constraints
        self.random_state = random_state
        self.device = device

    def _new_tree(self, settings, **limits):
        """scikit-learn's tree with our settings."""
        return DecisionTreeClassifier(
            max_depth=settings.max_depth,
            ccp_alpha=settings.ccp_alpha,
            random_state=self.random_state,
            **limits,
        )

    def _plain_tree(self, settings):
        """With the weights of the settings, too."""
        weight = None if self.class_weight == "auto" else self._class_weight_by_code()
        return super()._plain_tree(settings).set_params(class_weight=weight)

    def _weightings(self, y):
        """Powers of balanced weights in the leaves, or those of the settings alone."""
        if self.constraints_.class_costs:
            costs = cost_matrix(self.constraints_, self.labels())
            even = np.ones((1, len(self.classes_)))
            return growing_weights(costs, y), even
        if self.class_weight != "auto":
            weights = self._class_weights(y)
            return weights, weights[None]
        powers = self._balanced_weights(y) ** np.array(POWERS)[:, None]
        return np.ones(len(self.classes_)), powers / powers[:, y].mean(1)[:, None]

    def _values_of(self, y):
        """What each row votes for, its class unless errors have costs."""
        return votes(self.constraints_, self.labels())[0][y]

    def _vote_weights(self, y):
        """Weight of each row's vote, by the costs of its errors."""
        return votes(self.constraints_, self.labels())[1][y]

    def _class_weights(self, y):
        """Equal weights where they are not set."""
        if self.class_weight == "auto":
            return np.ones(len(self.classes_))
        return super()._class_weights(y)

    def _tuned_notes(self, winner, search):
        """The class weights, too, where they differ."""
        weights = self._weights_note(search.predicting[winner.weighting])
        return (*super()._tuned_notes(winner, search), *weights)


class CartRegressor(CartFit, GrownRegressor):
    """Regression tree grown greedily, one split after another.

    Source: Breiman, Friedman, Olshen and Stone, "Classification and Regression
    Trees", 1984, in scikit-learn's implementation. Missing numbers take the
    training median, categories their cross-fitted target mean.

    Parameters
    ----------
    tune : bool, default=True
        Whether 5-fold cross-validation chooses depth, leaf size and number of
        leaves, within the parameters below: the smallest tree within one standard
        error of the best R². Off, or with fewer than 10 rows, it is
        scikit-learn's plain tree with the parameters below. Validation rows given
        to ``fit`` are trained on as well where it is tuned.
    max_depth : int or None, default=None
        Splits on the longest path, 1 to 30; None sets no limit.
    min_samples_leaf : int, default=1
        Fewest training rows in a leaf, at least 1; tuning tries larger numbers, too.
    max_leaf_nodes : int or None, default=None
        Most leaves, 2 to 10,000; None sets no limit.
    ccp_alpha : float, default=0.0
        Cost-complexity pruning: variance that a leaf must save, at least 0.
    constraints : Constraints, dict or None, default=None
        What must hold on every possible row: monotone columns, columns by level or
        together, their number and cost, rows a leaf, costs of errors.
    random_state : int, RandomState instance or None, default=None
        Breaks ties between equally good splits.
    device : str, default="auto"
        Accepted for the common interface; a greedy tree is grown on the CPU.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree, thresholds in the units of ``X``.
    path_ : SizePath
        The best tree at each number of leaves, with its cross-validated score; of a
        tree that is not tuned its cost-complexity prunings, without scores.
    best_params_ : dict
        Settings that the tree was grown with, those that tuning chose among them.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Impurity that the splits on each column of ``X`` remove, as a fraction of all.
    origin_ : Origin
        That the tree was grown greedily.
    history_ : DataFrame
        One row: squared error on training rows, and on validation rows where they
        were given and nothing was tuned; seconds.
    """

    def __init__(
        self,
        max_depth=CartSettings.max_depth,
        *,
        tune=CartSettings.tune,
        min_samples_leaf=CartSettings.min_samples_leaf,
        max_leaf_nodes=CartSettings.max_leaf_nodes,
        ccp_alpha=CartSettings.ccp_alpha,
        constraints=CartSettings.constraints,
        random_state=None,
        device="auto",
    ):
        self.max_depth = max_depth
        self.tune = tune
        self.min_samples_leaf = min_samples_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.ccp_alpha = ccp_alpha
        self.constraints = constraints
        self.random_state = random_state
        self.device = device

    def _new_tree(self, settings, **limits):
        """scikit-learn's tree with our settings."""
        scale = self._target_scale.scale
        return DecisionTreeRegressor(
            max_depth=settings.max_depth,
            ccp_alpha=settings.ccp_alpha / scale / scale,  # a variance
            random_state=self.random_state,
            **limits,
        )
