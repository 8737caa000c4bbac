"""CART: the greedy tree, scikit-learn's, tuned by cross-validation and exported."""

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from treelab.learners.cart.fit import CartFit
from treelab.learners.cart.tuning import POWERS
from treelab.learners.common.constrained.setting import growing_weights
from treelab.learners.common.estimator import estimator
from treelab.learners.common.grown_tree import GrownClassifier, GrownRegressor
from treelab.trees.constraints.keeping import cost_matrix, votes


@estimator
class CartClassifier(CartFit, GrownClassifier):
    """Classification tree grown greedily, one split after another.

    Source: Breiman, Friedman, Olshen and Stone, "Classification and Regression
    Trees", 1984, in scikit-learn's implementation. Missing numbers take the
    training median, categories their cross-fitted target rate.

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


@estimator
class CartRegressor(CartFit, GrownRegressor):
    """Regression tree grown greedily, one split after another.

    Source: Breiman, Friedman, Olshen and Stone, "Classification and Regression
    Trees", 1984, in scikit-learn's implementation. Missing numbers take the
    training median, categories their cross-fitted target mean.

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

    def _new_tree(self, settings, **limits):
        """scikit-learn's tree with our settings."""
        scale = self._target_scale.scale
        return DecisionTreeRegressor(
            max_depth=settings.max_depth,
            ccp_alpha=settings.ccp_alpha / scale / scale,  # a variance
            random_state=self.random_state,
            **limits,
        )
