"""GradTree: one hard, axis-aligned tree, trained as a whole by gradient descent."""

import numpy as np

from treelab.learners.common.constrained.setting import constraints_of
from treelab.learners.common.estimator import estimator
from treelab.learners.common.objective import ClassObjective, RegressionObjective
from treelab.learners.common.target_scale import TargetScale
from treelab.learners.common.tuned_tree import TunedClassifier, TunedRegressor
from treelab.learners.gradtree.fit import GradTreeFit
from treelab.learners.gradtree.selection import TargetRows
from treelab.learners.gradtree.table import Table
from treelab.trees.logits import class_probabilities


@estimator
class GradTreeClassifier(GradTreeFit, TunedClassifier):
    """Hard, axis-aligned classification tree trained by gradient descent.

    All splits of a tree are trained together. In treelab's recipe they are soft at
    first and harden step by step; trees of several sizes, from greedy and from random
    starts, are trained in five folds, cross-validation settles the number of leaves and
    the class weights, and of restarts trained on all rows the one that agrees most with
    their vote is retained. The paper's recipe trains hard trees by straight-through
    gradients from random starts. ``docs/learners/gradtree.md`` has the formulas.

    Source: Marton, Ludtke, Bartelt and Stuckenschmidt, "GradTree: Learning
    Axis-Aligned Decision Trees with Gradient Descent", AAAI 2024, arXiv:2305.03515.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree, thresholds in the units of ``X``.
    path_ : SizePath
        The best tree at each number of leaves, with its cross-validated score.
    batch_ : Batch
        All trees that were trained on all rows, by treelab's recipe.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Impurity that the splits on each column of ``X`` remove, as a fraction of all.
    origin_ : Origin
        How the tree began and how many of its splits training changed.
    history_ : DataFrame
        Epoch, training loss (nats) of the retained tree, as a hard one, seconds.
    """

    def _table(self, frame, y, settings):
        """Class codes, with the weights of the classes that are tried."""
        n_classes = len(self.classes_)
        self.constraints_ = constraints_of(self, frame)
        growing, weights = self._weightings(y)
        has_costs = bool(self.constraints_.class_costs)
        training = growing if has_costs else np.ones(n_classes)
        return Table(
            frame=frame,
            target=TargetRows(y, self.labels(), weights, self.constraints_),
            objective=ClassObjective(
                class_weights=training[:, None],
                loss_kind=settings.loss,
                focal_gamma=settings.focal_gamma,
                poly_epsilon=settings.poly_epsilon,
            ),
            values=np.eye(n_classes)[y],
            task=self._task(),
            seed=self._draw_seed(),
        )

    def _trained_values(self, value, objective):
        """Probabilities of logits."""
        return class_probabilities(value, objective.n_classes)

    def _notes(self, weights):
        """Note how the classes are weighted, where they are."""
        return self._weights_note(weights)


@estimator
class GradTreeRegressor(GradTreeFit, TunedRegressor):
    """Hard, axis-aligned regression tree trained by gradient descent.

    All splits of a tree are trained together, by the expected squared error. In
    treelab's recipe they are soft at first and harden step by step; trees of several
    sizes, from greedy and from random starts, are trained in five folds,
    cross-validation settles the number of leaves, and of restarts trained on all rows
    the one nearest to their mean is retained. The paper's recipe trains hard trees by
    straight-through gradients from random starts. The target is standardised.

    Source: Marton, Ludtke, Bartelt and Stuckenschmidt, "GradTree: Learning
    Axis-Aligned Decision Trees with Gradient Descent", AAAI 2024, arXiv:2305.03515.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree, thresholds in the units of ``X``.
    path_ : SizePath
        The best tree at each number of leaves, with its cross-validated score.
    batch_ : Batch
        All trees that were trained on all rows, by treelab's recipe.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Impurity that the splits on each column of ``X`` remove, as a fraction of all.
    origin_ : Origin
        How the tree began and how many of its splits training changed.
    history_ : DataFrame
        Epoch, training loss (variances of the target) of the retained tree, as a hard
        one, seconds.
    """

    def _table(self, frame, y, settings):
        """Values of the target, standardised to be trained on."""
        self.constraints_ = constraints_of(self, frame)
        scale = TargetScale.rounded(y)
        y = scale.standardise(y)
        trained = TargetScale.of(y)
        return Table(
            frame=frame,
            target=TargetRows(y, None, np.ones((1, 1)), self.constraints_),
            objective=RegressionObjective(trained),
            values=trained.standardise(y)[:, None],
            task=self._task(),
            seed=self._draw_seed(),
            scale=scale,
        )

    def _trained_values(self, value, objective):
        """Values in the unit of the table's target."""
        return objective.scale.restore(value)
