"""Base of CART and GradTree: one tree whose size and class weights folds choose."""

from dataclasses import replace

import numpy as np
import pandas as pd

from treelab.data.encoding.table_encoder import TableEncoder
from treelab.learners.common.base import TrainingData
from treelab.learners.common.constrained.setting import (
    constraints_of,
    growing_weights,
)
from treelab.learners.common.cross_validation import Candidate, Search
from treelab.learners.common.folds import N_FOLDS
from treelab.learners.common.greedy import Greedy, decoded_tree
from treelab.learners.common.grown_tree import (
    GrownClassifier,
    GrownRegressor,
    GrownTree,
)
from treelab.trees.constraints import Constraints, cost_matrix, votes, with_note
from treelab.trees.midpoints import with_midpoint_thresholds
from treelab.trees.pruning import size_grid
from treelab.trees.tree import Tree
from treelab.trees.words import counted

POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)  # of balanced class weights that "auto" tries
IN_FOLDS = f"the rows held out of {N_FOLDS} folds in turn"


class TunedTree(GrownTree):
    """What the classifiers and the regressors share."""

    constraints_: Constraints

    def _read_all(self, X, y, X_valid, y_valid, *, numbers: str) -> TrainingData:
        """Read the rows; those to validate by train as well."""
        data = super()._read(X, y, X_valid, y_valid, numbers=numbers)
        if len(data.y_valid) == 0:
            return data
        frame = pd.concat([data.frame, data.frame_valid]).reset_index(drop=True)
        target = np.concatenate([data.y, data.y_valid])
        encoder = TableEncoder(
            numbers, task=self._task(), random_state=self._draw_seed()
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

    def _search(self, data: TrainingData, settings, *, min_samples_leaf=1) -> Search:
        """Check the constraints; return what cross-validation tries."""
        self.constraints_ = constraints_of(self, data.frame)
        growing, predicting = self._weightings(data.y)
        most = min(settings.max_leaf_nodes or len(data.y), len(data.y))
        return Search(
            greedy=Greedy(
                self.labels(),
                growing,
                settings.max_depth,
                self.random_state,
                self._ccp_alpha(settings),
                self.constraints_,
            ),
            task=self._task(),
            predicting=predicting,
            sizes=size_grid(most),
            min_samples_leaf=min_samples_leaf,
            seed=self._draw_seed(),
        )

    def _weightings(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights of classes while growing (n_classes,), and to try in the leaves."""
        return np.ones(1), np.ones((1, 1))

    def _ccp_alpha(self, settings) -> float:
        """Complexity parameter in the unit of the target that is grown on."""
        return getattr(settings, "ccp_alpha", 0.0)

    def _with_rows(self, tree, data, class_weights=None):
        """With thresholds midway between the rows of their node, as CART sets them."""
        tree = super()._with_rows(tree, data, class_weights)
        return with_midpoint_thresholds(tree)

    def _exported(
        self, tree: Tree, data: TrainingData, class_weights, notes: tuple[str, ...] = ()
    ) -> Tree:
        """Rewrite a tree over encoded columns in the user's, with rows and notes."""
        tree = replace(decoded_tree(tree, data.encoder), notes=notes)
        tree = self._with_rows(tree, data, class_weights)
        return with_note(tree, self.constraints_)

    def _tuned_notes(self, search: Search, candidate: Candidate) -> tuple[str, ...]:
        """Say which settings cross-validation chose."""
        least = max(candidate.min_samples_leaf, self.constraints_.min_samples_leaf)
        depth = "any depth"
        if candidate.max_depth is not None:
            depth = f"depth at most {candidate.max_depth}"
        return (
            f"Tuned by {N_FOLDS}-fold cross-validation: {depth}, at least "
            f"{counted(least, 'row')} a leaf, pruned to its number of leaves.",
        )


class TunedClassifier(TunedTree, GrownClassifier):
    """What the classifiers share: weights of classes, costs of errors."""

    def _weightings(self, y):
        """Powers of balanced weights in the leaves, or those of the settings alone."""
        even = np.ones(len(self.classes_))
        if self.constraints_.class_costs:
            costs = cost_matrix(self.constraints_, self.labels())
            return growing_weights(costs, y), even[None]
        if self._class_weight != "auto":
            weights = self._class_weights(y)
            return weights, weights[None]
        powers = self._balanced_weights(y) ** np.array(POWERS)[:, None]
        return even, powers / powers[:, y].mean(1)[:, None]

    def _values_of(self, y):
        """What each row votes for, its class unless errors have costs."""
        return votes(self.constraints_, self.labels())[0][y]

    def _vote_weights(self, y):
        """Weight of each row's vote, by the costs of its errors."""
        return votes(self.constraints_, self.labels())[1][y]

    def _class_weights(self, y):
        """Equal weights where they are not set."""
        if self._class_weight == "auto":
            return np.ones(len(self.classes_))
        return super()._class_weights(y)

    def _tuned_notes(self, search, candidate):
        """The class weights, too, where they differ."""
        weights = self._weights_note(search.predicting[candidate.weighting])
        return (*super()._tuned_notes(search, candidate), *weights)


class TunedRegressor(TunedTree, GrownRegressor):
    """What the regressors share."""

    def _ccp_alpha(self, settings):
        """A variance."""
        scale = self._target_scale.scale
        return super()._ccp_alpha(settings) / scale / scale
