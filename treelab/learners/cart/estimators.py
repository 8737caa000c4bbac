"""CART: the greedy tree, scikit-learn's, tuned by cross-validation and exported."""

from treelab.learners.cart.fit import CartFit
from treelab.learners.common.settings import (
    IntervalSettings,
    RegressionLossSettings,
    estimator,
)
from treelab.learners.common.tuned_tree import TunedClassifier, TunedRegressor


@estimator
class CartClassifier(CartFit, TunedClassifier):
    """Classification tree grown greedily, one split after another.

    Source: Breiman, Friedman, Olshen and Stone, "Classification and Regression
    Trees", 1984, in scikit-learn's implementation. Missing numbers take the
    training median, categories their cross-fitted target rate.
    """


@estimator
class CartRegressor(RegressionLossSettings, IntervalSettings, CartFit, TunedRegressor):
    """Regression tree grown greedily, one split after another.

    Source: Breiman, Friedman, Olshen and Stone, "Classification and Regression
    Trees", 1984, in scikit-learn's implementation. Missing numbers take the
    training median, categories their cross-fitted target mean. Of another ``loss``
    the splits are those of squared error (of counts and amounts those of the Poisson
    deviance); leaves hold the constant that costs their rows least, and folds choose
    the size by the loss.
    """

    predicts_several = True
