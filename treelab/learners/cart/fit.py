"""How CART is grown: tuned by cross-validation or plain, and exported."""

from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.tree import BaseDecisionTree

from treelab.data.encoding.table_encoder import TableEncoder, to_float32
from treelab.learners.cart.settings import SPEC, CartSettings
from treelab.learners.cart.tuning import (
    MOST_LEAVES,
    Candidate,
    Search,
    cross_validate,
    weighted_impurity,
)
from treelab.learners.common.base import TrainingData
from treelab.learners.common.constrained.setting import constraints_of
from treelab.learners.common.folds import FEWEST_ROWS, N_FOLDS
from treelab.learners.common.grown_tree import GrownTree
from treelab.training.events import Monitor
from treelab.trees.constraints.constraints import Constraints
from treelab.trees.constraints.keeping import kept, kept_path, with_note
from treelab.trees.midpoints import with_midpoint_thresholds
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


class CartFit(CartSettings, GrownTree):
    """What the classifier and the regressor share."""

    _start = "greedy"
    constraints_: Constraints

    def _read(self, X, y, X_valid=None, y_valid=None, **options) -> TrainingData:
        """Read the rows; those to validate by train as well where folds do that."""
        data = super()._read(X, y, X_valid, y_valid, **options)
        if not self.tune or len(data.y_valid) == 0:
            return data
        frame = pd.concat([data.frame, data.frame_valid]).reset_index(drop=True)
        target = np.concatenate([data.y, data.y_valid])
        encoder = TableEncoder(
            "rank", task=self._task(), random_state=self._draw_seed()
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

    def _grow_plain(self, data: TrainingData, settings: CartSettings):
        """Grow a tree that is not tuned; return it as scikit-learn's ``tree_``."""
        X = to_float32(data.X)
        if not self.constraints_:
            return self._plain_tree(settings).fit(X, data.y).tree_
        search = self._search(settings, data.y)
        return search.grow(
            X,
            data.y,
            settings.min_samples_leaf,
            data.encoder.features_,
            max_leaf_nodes=settings.max_leaf_nodes,
        )

    def _weightings(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights of classes while growing (n_classes,), and to try in the leaves."""
        return np.ones(1), np.ones((1, 1))

    def _grow(
        self, data: TrainingData, settings: CartSettings, monitor: Monitor
    ) -> SizePath:
        """Grow scikit-learn's tree, tuned where there are rows enough."""
        self.constraints_ = constraints_of(self, data.frame)
        if self.constraints_.limits_splits and settings.ccp_alpha:
            raise ValueError(
                "With constraints, ccp_alpha must be 0: cross-validation chooses the "
                "number of leaves, or max_leaf_nodes sets it."
            )
        if settings.tune and len(data.y) >= FEWEST_ROWS:
            return self._tuned(data, settings, monitor)
        grown = self._grow_plain(data, settings)
        self.best_params_ = {
            name: value
            for name, value in self.get_params().items()
            if name in ("max_depth", "min_samples_leaf", "max_leaf_nodes")
        }
        tree = self._with_rows(self._export(grown, data), data)
        tree = with_note(
            replace(tree, notes=(_untuned_note(settings),)), self.constraints_
        )
        path = unscored_path(kept(simplify(tree), self.constraints_), MOST_LEAVES)
        return kept_path(path, self.constraints_)

    def _tuned(
        self, data: TrainingData, settings: CartSettings, monitor: Monitor
    ) -> SizePath:
        """Cross-validate every candidate at every size; grow the best of each."""
        search = self._search(settings, data.y)
        scores = cross_validate(data, search, monitor)
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
            weights = search.predicting[winners[chosen].weighting].tolist()
            self.best_params_["class_weight"] = dict(zip(search.classes, weights))
        trees = self._grow_winners(data, search, winners)
        scores = of_size.mean(axis=1)[:longest]
        path = path_of_sizes(
            trees, search.sizes[:longest], scores, error[:longest], chosen
        )
        return kept_path(path, self.constraints_)

    def _with_rows(self, tree, data, class_weights=None):
        """With thresholds midway between the rows of their node, as CART sets them."""
        tree = super()._with_rows(tree, data, class_weights)
        return with_midpoint_thresholds(tree)

    def _search(self, settings: CartSettings, y: np.ndarray) -> Search:
        """Return what cross-validation tries."""
        growing, predicting = self._weightings(y)
        return Search(
            settings=settings,
            task=self._task(),
            classes=self.labels(),
            new_tree=lambda leaf_size, **limits: self._new_tree(
                settings, min_samples_leaf=leaf_size, **limits
            ),
            growing=growing,
            predicting=predicting,
            sizes=size_grid(min(settings.max_leaf_nodes or len(y), len(y))),
            seed=self._draw_seed(),
            constraints=self.constraints_,
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
                nodes = search.grow(X, data.y, leaf_size, data.encoder.features_)
                grown[leaf_size] = self._export(nodes, data)
            if winner not in paths:
                weights = None
                if search.classes is not None:
                    weights = search.predicting[winner.weighting]
                tree = self._with_rows(grown[leaf_size], data, weights)
                tree = replace(tree, notes=self._tuned_notes(winner, search))
                tree = with_note(tree, self.constraints_)
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
        rows = counted(search.least(winner.min_samples_leaf), "row")
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


def _untuned_note(settings: CartSettings) -> str:
    """Say that nothing was tuned, and why."""
    if settings.tune:
        return f"Not tuned: there are fewer than {FEWEST_ROWS} rows."
    others = [one for one in SPEC.settings if one.name != "tune"]
    if all(getattr(settings, one.name) == one.default for one in others):
        return "Not tuned: scikit-learn's tree with its defaults."
    return "Not tuned: scikit-learn's tree with the settings of this run."
