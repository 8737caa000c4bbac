"""CART: the greedy tree, scikit-learn's, tuned by cross-validation and exported."""

from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.tree import (
    BaseDecisionTree,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)

from treelab.data.encoding.table_encoder import TableEncoder, to_float32
from treelab.learners.cart.settings import CartSettings
from treelab.learners.cart.tuning import (
    MOST_LEAVES,
    POWERS,
    Candidate,
    Search,
    cross_validate,
    weighted_impurity,
)
from treelab.learners.common.base import TrainingData
from treelab.learners.common.folds import FEWEST_ROWS, N_FOLDS
from treelab.learners.common.grown_tree import (
    GrownClassifier,
    GrownRegressor,
    GrownTree,
)
from treelab.trees.pruning.cost_complexity import (
    CostComplexityPath,
    cost_complexity_path,
)
from treelab.trees.pruning.cut import cut_at
from treelab.trees.pruning.simplify import simplify
from treelab.trees.pruning.size_path import SizePath, within_one_standard_error
from treelab.trees.pruning.sizes import (
    path_of_sizes,
    size_grid,
    steps_at,
    unscored_path,
)
from treelab.trees.text.numerals import counted
from treelab.trees.tree import Tree


class _Cart(GrownTree):
    """What the classifier and the regressor share."""

    _settings = CartSettings
    _start = "greedy"

    def _read(self, X, y, X_valid=None, y_valid=None, **options) -> TrainingData:
        """Read the rows; those to validate by train as well where folds do that."""
        data = super()._read(X, y, X_valid, y_valid, **options)
        if not self.tune or len(data.y_valid) == 0:
            return data
        frame = pd.concat([data.frame, data.frame_valid]).reset_index(drop=True)
        target = np.concatenate([data.y, data.y_valid])
        encoder = TableEncoder(
            "none", task=self._task(), random_state=self._draw_seed()
        )
        return replace(
            data,
            encoder=encoder,
            X=encoder.fit_transform(frame, target),
            y=target,
            frame=frame,
            X_valid=data.X_valid[:0],
            y_valid=data.y_valid[:0],
            frame_valid=data.frame_valid[:0],
        )

    def _held_out(self, data: TrainingData, settings: CartSettings) -> str:
        """The folds of the tuning."""
        if not settings.tune or len(data.y) < FEWEST_ROWS:
            return ""
        return f"the rows held out of {N_FOLDS} folds in turn"

    def _new_tree(self, settings: CartSettings, **limits) -> BaseDecisionTree:
        """Return scikit-learn's tree with our settings, not yet grown."""
        raise NotImplementedError

    def _plain_tree(self, settings: CartSettings) -> BaseDecisionTree:
        """Return scikit-learn's tree with exactly our settings, not yet grown."""
        return self._new_tree(
            settings,
            min_samples_leaf=settings.min_samples_leaf,
            max_leaf_nodes=settings.max_leaf_nodes,
        )

    def _weightings(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights of classes while growing (n_classes,), and to try in the leaves."""
        return np.ones(1), np.ones((1, 1))

    def _grow(self, data: TrainingData, settings: CartSettings) -> SizePath:
        """Grow scikit-learn's tree, tuned where there are rows enough."""
        if settings.tune and len(data.y) >= FEWEST_ROWS:
            return self._tuned(data, settings)
        grown = self._plain_tree(settings).fit(to_float32(data.X), data.y).tree_
        self.best_params_ = {
            name: value
            for name, value in self.get_params().items()
            if name in ("max_depth", "min_samples_leaf", "max_leaf_nodes")
        }
        tree = self._with_rows(self._export(grown, data), data)
        tree = replace(tree, notes=(_untuned_note(settings),))
        return unscored_path(simplify(tree), MOST_LEAVES)

    def _tuned(self, data: TrainingData, settings: CartSettings) -> SizePath:
        """Cross-validate every candidate at every size; grow the best of each."""
        growing, predicting = self._weightings(data.y)
        search = Search(
            settings=settings,
            task=self._task(),
            classes=self.labels(),
            new_tree=lambda leaf_size: self._new_tree(
                settings, min_samples_leaf=leaf_size
            ),
            growing=growing,
            predicting=predicting,
            sizes=size_grid(min(settings.max_leaf_nodes or len(data.y), len(data.y))),
            seed=self._draw_seed(),
        )
        scores = cross_validate(data, search)
        best = scores.mean(axis=-1).argmax(axis=0)  # candidate of each size
        of_size = scores[best, np.arange(len(search.sizes))]
        chosen, error = within_one_standard_error(of_size)
        candidates = search.candidates(len(data.y))
        longest = max(of_size.mean(1).argmax() + 1, (search.sizes <= MOST_LEAVES).sum())
        winners = [candidates[i] for i in best[:longest]]
        self.best_params_ = {
            "max_depth": winners[chosen].max_depth,
            "min_samples_leaf": winners[chosen].min_samples_leaf,
            "max_leaf_nodes": int(search.sizes[chosen]),
        }
        if search.classes is not None:
            weights = predicting[winners[chosen].weighting].tolist()
            self.best_params_["class_weight"] = dict(zip(search.classes, weights))
        trees = self._grow_winners(data, search, winners)
        scores = of_size.mean(axis=1)[:longest]
        return path_of_sizes(
            trees, search.sizes[:longest], scores, error[:longest], chosen
        )

    def _grow_winners(
        self, data: TrainingData, search: Search, winners: list[Candidate]
    ) -> list[Tree]:
        """Grow the best candidate of each size on all rows, pruned to the size."""
        X = to_float32(data.X)
        grown: dict[int, Tree] = {}
        paths: dict[Candidate, CostComplexityPath] = {}
        trees = []
        for winner, size in zip(winners, search.sizes.tolist()):
            leaf_size = winner.min_samples_leaf
            if leaf_size not in grown:
                nodes = search.grow(X, data.y, leaf_size)
                grown[leaf_size] = self._export(nodes, data)
            if winner not in paths:
                weights = None
                if search.classes is not None:
                    weights = search.predicting[winner.weighting]
                tree = self._with_rows(grown[leaf_size], data, weights)
                tree = replace(tree, notes=self._tuned_notes(winner, search))
                if winner.max_depth is not None:
                    tree = cut_at(tree, tree.level >= winner.max_depth)
                path = cost_complexity_path(weighted_impurity(tree, search.growing))
                paths[winner] = replace(path, tree=tree)
            path = paths[winner]
            step = int(steps_at(path, np.array([size]))[0])
            trees.append(simplify(path.trees[step]))
        return trees

    def _tuned_notes(self, winner: Candidate, search: Search) -> tuple[str, ...]:
        """Say which settings cross-validation chose."""
        rows = counted(winner.min_samples_leaf, "row")
        depth = "any depth"
        if winner.max_depth is not None:
            depth = f"depth at most {winner.max_depth}"
        return (
            f"Tuned by {N_FOLDS}-fold cross-validation: {depth}, at least {rows} a "
            "leaf, pruned to its number of leaves.",
        )

    def _export(self, grown, data: TrainingData) -> Tree:
        """Rewrite scikit-learn's tree in the user's columns and units."""
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
        random_state=None,
        device="auto",
    ):
        self.max_depth = max_depth
        self.tune = tune
        self.min_samples_leaf = min_samples_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.ccp_alpha = ccp_alpha
        self.class_weight = class_weight
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
        if self.class_weight != "auto":
            weights = self._class_weights(y)
            return weights, weights[None]
        powers = self._balanced_weights(y) ** np.array(POWERS)[:, None]
        return np.ones(len(self.classes_)), powers / powers[:, y].mean(1)[:, None]

    def _class_weights(self, y):
        """Equal weights where they are not set."""
        if self.class_weight == "auto":
            return np.ones(len(self.classes_))
        return super()._class_weights(y)

    def _tuned_notes(self, winner, search):
        """The class weights, too, where they differ."""
        weights = self._weights_note(search.predicting[winner.weighting])
        return (*super()._tuned_notes(winner, search), *weights)


class CartRegressor(_Cart, GrownRegressor):
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
        random_state=None,
        device="auto",
    ):
        self.max_depth = max_depth
        self.tune = tune
        self.min_samples_leaf = min_samples_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.ccp_alpha = ccp_alpha
        self.random_state = random_state
        self.device = device

    def _new_tree(self, settings, **limits):
        """scikit-learn's tree with our settings."""
        return DecisionTreeRegressor(
            max_depth=settings.max_depth,
            ccp_alpha=settings.ccp_alpha,
            random_state=self.random_state,
            **limits,
        )


def _untuned_note(settings: CartSettings) -> str:
    """Say that nothing was tuned, and why."""
    if settings.tune:
        return f"Not tuned: there are fewer than {FEWEST_ROWS} rows."
    if settings == CartSettings(tune=False):
        return "Not tuned: scikit-learn's tree with its defaults."
    return "Not tuned: scikit-learn's tree with the settings of this run."
