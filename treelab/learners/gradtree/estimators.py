"""GradTree: one hard, axis-aligned tree, trained as a whole by gradient descent."""

import numpy as np
import torch

from treelab.learners.common.settings import (
    IntervalSettings,
    RegressionLossSettings,
    estimator,
)
from treelab.learners.common.target import TargetScale, loss_of
from treelab.learners.common.tuned_tree import TunedClassifier, TunedRegressor
from treelab.learners.gradtree.fit import GradTreeFit
from treelab.trees.logits import class_probabilities


@estimator
class GradTreeClassifier(GradTreeFit, TunedClassifier):
    """Hard, axis-aligned classification tree trained by gradient descent.

    All splits of a tree are trained together, by straight-through gradients. Folds of
    greedy trees settle the number of leaves and the class weights; greedy trees on
    bootstrap weights, and small random ones where they lead, are trained side by side,
    and the one that fits the rows best and agrees most with the others is retained.
    The paper's recipe trains complete trees from random starts, stops early and retains
    the lowest validation loss. ``docs/learners/gradtree.md`` has the formulas.

    Source: Marton, Ludtke, Bartelt and Stuckenschmidt, "GradTree: Learning
    Axis-Aligned Decision Trees with Gradient Descent", AAAI 2024, arXiv:2305.03515.
    """

    def _trained_values(self, output, objective):
        """Probabilities of logits."""
        return class_probabilities(output, objective.n_classes)

    def _notes(self, weights):
        """Note how the classes are weighted, where they are."""
        return self._weights_note(weights)


@estimator
class GradTreeRegressor(
    RegressionLossSettings, IntervalSettings, GradTreeFit, TunedRegressor
):
    """Hard, axis-aligned regression tree trained by gradient descent.

    As ``GradTreeClassifier``, by the squared error of the standardised target, or by
    another ``loss``: folds choose the size by it, leaves hold the constant that costs
    their rows least, and trees are trained by its gradient.

    Source: Marton, Ludtke, Bartelt and Stuckenschmidt, "GradTree: Learning
    Axis-Aligned Decision Trees with Gradient Descent", AAAI 2024, arXiv:2305.03515.
    """

    predicts_several = True

    def _scale_of(self, settings, data):
        """Round in binary, so that means of values are those of the target."""
        self._loss_of_rows = loss_of(settings, data.y, data.weight)
        return TargetScale.for_loss(data.y, self._loss_of_rows, rounded=True)

    def _trained_values(self, output, objective):
        """Values in the unit of the table's target; quantiles do not cross."""
        outputs = objective.leaf_outputs(torch.from_numpy(output)).numpy()
        if self._levels:
            outputs = np.sort(outputs, axis=1)
        return objective.scale.restore(outputs)
