"""CART: the greedy tree, scikit-learn's, tuned by cross-validation and exported."""

from treelab.learners.cart.fit import CartFit
from treelab.learners.common.estimator import estimator
from treelab.learners.common.tuned_tree import TunedClassifier, TunedRegressor


@estimator
class CartClassifier(CartFit, TunedClassifier):
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


@estimator
class CartRegressor(CartFit, TunedRegressor):
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
