"""CART: the greedy tree, scikit-learn's, tuned by cross-validation or plain."""

from sklearn.utils import check_random_state

from treelab.data.encoding import to_float32
from treelab.learners.cart.settings import CartSettings
from treelab.learners.common.base import TrainingData
from treelab.learners.common.folds import FEWEST_ROWS
from treelab.learners.common.settings import (
    CommonSettings,
    IntervalSettings,
    RegressionLossSettings,
    estimator,
    settings_in,
)
from treelab.learners.common.tuned_tree import (
    IN_FOLDS,
    Choice,
    Restarts,
    Search,
    TunedClassifier,
    TunedRegressor,
    TunedTree,
    cross_validate,
)
from treelab.training.events import Monitor
from treelab.trees.constraints import kept, kept_path
from treelab.trees.pruning import SizePath, simplify, unscored_path
from treelab.trees.tree import Tree

MOST_LEAVES = 1000  # of a path, unless larger trees score better: nobody reads more


class _Cart(CartSettings, TunedTree):
    """What the classifier and the regressor share.

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
        One row: log loss, or squared error, on training rows, and on validation rows
        where they were given and nothing was tuned; seconds.
    """

    _start = "greedy"
    best_params_: dict

    def _encoding(self, settings):
        """Rows to validate by train as well where folds validate."""
        return {"numbers": "rank", "joins_valid": settings.tune}

    def _held_out(self, data: TrainingData, settings: CartSettings) -> str:
        """The folds of the tuning."""
        return IN_FOLDS if settings.tune and len(data.y) >= FEWEST_ROWS else ""

    def _grow(
        self, data: TrainingData, settings: CartSettings, monitor: Monitor
    ) -> SizePath:
        """Grow scikit-learn's tree, tuned where there are rows enough."""
        least = settings.min_samples_leaf
        search = self._search(data, settings, min_samples_leaf=least)
        if self.constraints_.limits_splits and settings.ccp_alpha:
            raise ValueError(
                "With constraints, ccp_alpha must be 0: cross-validation chooses the "
                "number of leaves, or max_leaf_nodes sets it."
            )
        if settings.tune and len(data.y) >= FEWEST_ROWS:
            choice = cross_validate(data, search, monitor)
            return kept_path(
                self._tuned(data, settings, search, choice), self.constraints_
            )
        self.best_params_ = {
            "max_depth": settings.max_depth,
            "min_samples_leaf": least,
            "max_leaf_nodes": settings.max_leaf_nodes,
        }
        grown = search.greedy.grow(
            to_float32(data.X),
            data.y,
            data.encoder.features_,
            min_samples_leaf=least,
            max_leaf_nodes=settings.max_leaf_nodes,
            weight=data.weight,
        )
        tree = self._exported(grown, data, None, (_untuned_note(settings),))
        path = unscored_path(kept(simplify(tree), self.constraints_), MOST_LEAVES)
        return kept_path(path, self.constraints_)

    def _tuned(
        self, data: TrainingData, settings: CartSettings, search: Search, choice: Choice
    ) -> SizePath:
        """Grow the best candidate of each size on all rows, pruned to the size."""
        winner, sizes = choice.candidate, choice.sizes
        self.best_params_ = {
            "max_depth": winner.max_depth,
            "min_samples_leaf": winner.min_samples_leaf,
            "max_leaf_nodes": int(sizes[choice.chosen]),
        }
        classes = search.greedy.classes
        if classes is not None:
            weights = search.predicting[winner.weighting].tolist()
            self.best_params_["class_weight"] = dict(zip(classes, weights))
        X = to_float32(data.X)
        seen = to_float32(data.encoder.transform(data.frame))
        random = check_random_state(self.random_state)
        rows = X, seen, data.y, data.encoder.features_, data.weight
        restarts = Restarts(search, rows, settings.n_restarts, random)
        longest = max(choice.scores.argmax() + 1, (sizes <= MOST_LEAVES).sum())
        trees: list[Tree] = []
        made: dict[tuple, Tree] = {}  # many sizes have the same tree
        for size, candidate in zip(sizes[:longest].tolist(), choice.candidates):
            key = candidate, restarts.steps(candidate, size)
            if key not in made:
                tree = restarts.retained(candidate, size)
                notes = self._tuned_notes(search, candidate)
                weights = None
                if classes is not None:
                    weights = search.predicting[candidate.weighting]
                made[key] = simplify(self._exported(tree, data, weights, notes))
            trees.append(made[key])
        return choice.path(trees)


@estimator
class CartClassifier(_Cart, TunedClassifier):
    """Classification tree grown greedily, one split after another.

    Source: Breiman, Friedman, Olshen and Stone, "Classification and Regression
    Trees", 1984, in scikit-learn's implementation. Missing numbers take the
    training median, categories their cross-fitted target rate.
    """


@estimator
class CartRegressor(RegressionLossSettings, IntervalSettings, _Cart, TunedRegressor):
    """Regression tree grown greedily, one split after another.

    Source: Breiman, Friedman, Olshen and Stone, "Classification and Regression
    Trees", 1984, in scikit-learn's implementation. Missing numbers take the
    training median, categories their cross-fitted target mean. Of another ``loss``
    the splits are those of squared error (of counts and amounts those of the Poisson
    deviance); leaves hold the constant that costs their rows least, and folds choose
    the size by the loss.
    """

    predicts_several = True


def _untuned_note(settings: CartSettings) -> str:
    """Say that nothing was tuned, and why."""
    if settings.tune:
        return f"Not tuned: there are fewer than {FEWEST_ROWS} rows."
    own = {one.name: one.default for one in settings_in(type(settings))}
    apart = {"tune", *(one.name for one in settings_in(CommonSettings))}
    if all(getattr(settings, name) == own[name] for name in own if name not in apart):
        return "Not tuned: scikit-learn's tree with its defaults."
    return "Not tuned: scikit-learn's tree with the settings of this run."
