"""GradTree: one hard, axis-aligned tree, trained as a whole by gradient descent."""

from dataclasses import replace

import numpy as np

from treelab.learners.common.base import TableClassifier, TableRegressor
from treelab.learners.common.constrained.setting import (
    constraints_of,
    growing_weights,
)
from treelab.learners.common.grown_tree import with_node_means
from treelab.learners.common.objective import ClassObjective, RegressionObjective
from treelab.learners.common.target_scale import TargetScale
from treelab.learners.gradtree.fit import GradTreeFit
from treelab.learners.gradtree.selection import TargetRows
from treelab.learners.gradtree.settings import GradTreeSettings
from treelab.learners.gradtree.table import Table
from treelab.trees.constraints.keeping import cost_matrix, votes
from treelab.trees.logits import class_probabilities

BALANCE = (0.0, 0.25, 0.5, 0.75, 1.0)  # powers of balanced class weights "auto" tries


class GradTreeClassifier(GradTreeFit, TableClassifier):
    """Hard, axis-aligned classification tree trained by gradient descent.

    All splits of a tree are trained together. In treelab's recipe they are soft at
    first and harden step by step; trees of several sizes, from greedy and from random
    starts, are trained in five folds, cross-validation settles the number of leaves and
    the class weights, and of restarts trained on all rows the one that agrees most with
    their vote is retained. The paper's recipe trains hard trees by straight-through
    gradients from random starts. ``docs/learners/gradtree.md`` has the formulas.

    Source: Marton, Ludtke, Bartelt and Stuckenschmidt, "GradTree: Learning
    Axis-Aligned Decision Trees with Gradient Descent", AAAI 2024, arXiv:2305.03515.

    Parameters
    ----------
    recipe : {"treelab", "paper"}, default="treelab"
        Whether training follows treelab's recipe or the paper's.
    max_leaf_nodes : int, default=64
        Most leaves, 2 to 512; trees of 4, 8, 16, ... leaves are trained side by side.
    max_depth : int, default=10
        Most splits on the way to a leaf, 1 to 12; 8, and of every leaf, in the paper's
        recipe.
    n_restarts : int, default=8
        Trees of each size that are trained on all rows (1 in each fold); 3 in the
        paper's recipe.
    n_steps : int or "auto", default="auto"
        Steps of gradient descent; "auto" takes 200, and 600 above 5,000 rows.
    batch_size : int, default=256
        Rows in each step.
    loss : {"cross_entropy", "focal", "poly", "brier"}, default="cross_entropy"
        See ``treelab.ops.losses.class_loss``.
    focal_gamma, poly_epsilon : float, default=2.0, 1.0
        Of the focal and the poly loss.
    learning_rate_index, learning_rate_values : float, default=0.05, 0.03
        For the feature selectors and for the thresholds (standard normal scores).
        Where all rates are 0, the starts stay untrained.
    learning_rate_leaf : float, default=0.05
        For the leaf outputs (logits).
    class_weight : "auto", None, "balanced" or dict of label to weight, default="auto"
        Weight of a row of each class in the leaves; training weighs all rows alike.
        "auto" lets cross-validation choose a power of the balanced weights.
    decision : {"logistic", "softsign", "entmoid"}, default="logistic"
        Differentiable split function of the paper's recipe.
    selector : {"entmax15", "softmax"}, default="entmax15"
        Transformation of the features' logits in the paper's recipe.
    max_epochs, patience : int, default=10000, 200
        Passes over the rows at the latest, and those without a lower validation loss,
        in the paper's recipe.
    constraints : Constraints, dict or None, default=None
        What must hold on every possible row: monotone columns, columns by level or
        together, their number and cost, rows a leaf, costs of errors.
    random_state : int, RandomState instance or None, default=None
        Seeds folds, starts and batches; an int gives the same tree every time on the
        CPU.
    device : str, default="auto"
        Where to train: "cpu", "cuda", "cuda:N"; "auto" takes CUDA where it is.

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

    def __init__(
        self,
        max_depth=GradTreeSettings.max_depth,
        *,
        recipe=GradTreeSettings.recipe,
        max_leaf_nodes=GradTreeSettings.max_leaf_nodes,
        n_restarts=GradTreeSettings.n_restarts,
        n_steps=GradTreeSettings.n_steps,
        batch_size=GradTreeSettings.batch_size,
        loss=GradTreeSettings.loss,
        focal_gamma=GradTreeSettings.focal_gamma,
        poly_epsilon=GradTreeSettings.poly_epsilon,
        learning_rate_index=GradTreeSettings.learning_rate_index,
        learning_rate_values=GradTreeSettings.learning_rate_values,
        learning_rate_leaf=GradTreeSettings.learning_rate_leaf,
        class_weight=GradTreeSettings.class_weight,
        decision=GradTreeSettings.decision,
        selector=GradTreeSettings.selector,
        max_epochs=GradTreeSettings.max_epochs,
        patience=GradTreeSettings.patience,
        constraints=GradTreeSettings.constraints,
        random_state=None,
        device="auto",
    ):
        self.max_depth = max_depth
        self.recipe = recipe
        self.max_leaf_nodes = max_leaf_nodes
        self.n_restarts = n_restarts
        self.n_steps = n_steps
        self.batch_size = batch_size
        self.loss = loss
        self.focal_gamma = focal_gamma
        self.poly_epsilon = poly_epsilon
        self.learning_rate_index = learning_rate_index
        self.learning_rate_values = learning_rate_values
        self.learning_rate_leaf = learning_rate_leaf
        self.class_weight = class_weight
        self.decision = decision
        self.selector = selector
        self.max_epochs = max_epochs
        self.patience = patience
        self.constraints = constraints
        self.random_state = random_state
        self.device = device

    def _table(self, frame, y, settings):
        """Class codes, with the weights of the classes that are tried."""
        n_classes = len(self.classes_)
        self.constraints_ = constraints_of(self, frame)
        training = np.ones(n_classes)
        if self.constraints_.class_costs:
            training = growing_weights(cost_matrix(self.constraints_, self.labels()), y)
            weights = np.ones((1, n_classes))
        elif settings.class_weight == "auto":
            weights = self._balanced_weights(y) ** np.array(BALANCE)[:, None]
            weights = weights / weights[:, y].mean(1)[:, None]
        elif settings.class_weight is None:  # by the paper's recipe, maybe
            weights = np.ones((1, n_classes))
        else:
            weights = self._class_weights(y)[None]
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

    def _refitted(self, tree, table, weights):
        """Each node predicts the weighted fractions of the classes."""
        y = table.target.y
        leaf = tree.apply(table.frame)
        values, own = votes(self.constraints_, self.labels())
        tree = with_node_means(tree, leaf, values[y], (own * weights)[y])
        return replace(tree, class_weights=own * weights)

    def _trained_values(self, value, objective):
        """Probabilities of logits."""
        return class_probabilities(value, objective.n_classes)

    def _notes(self, weights):
        """Note how the classes are weighted, where they are."""
        return self._weights_note(weights)


class GradTreeRegressor(GradTreeFit, TableRegressor):
    """Hard, axis-aligned regression tree trained by gradient descent.

    All splits of a tree are trained together, by the expected squared error. In
    treelab's recipe they are soft at first and harden step by step; trees of several
    sizes, from greedy and from random starts, are trained in five folds,
    cross-validation settles the number of leaves, and of restarts trained on all rows
    the one nearest to their mean is retained. The paper's recipe trains hard trees by
    straight-through gradients from random starts. The target is standardised.

    Source: Marton, Ludtke, Bartelt and Stuckenschmidt, "GradTree: Learning
    Axis-Aligned Decision Trees with Gradient Descent", AAAI 2024, arXiv:2305.03515.

    Parameters
    ----------
    recipe : {"treelab", "paper"}, default="treelab"
        Whether training follows treelab's recipe or the paper's.
    max_leaf_nodes : int, default=64
        Most leaves, 2 to 512; trees of 4, 8, 16, ... leaves are trained side by side.
    max_depth : int, default=10
        Most splits on the way to a leaf, 1 to 12; 8, and of every leaf, in the paper's
        recipe.
    n_restarts : int, default=8
        Trees of each size that are trained on all rows (1 in each fold); 3 in the
        paper's recipe.
    n_steps : int or "auto", default="auto"
        Steps of gradient descent; "auto" takes 200, and 600 above 5,000 rows.
    batch_size : int, default=256
        Rows in each step.
    learning_rate_index, learning_rate_values : float, default=0.05, 0.03
        For the feature selectors and for the thresholds (standard normal scores).
        Where all rates are 0, the starts stay untrained.
    learning_rate_leaf : float, default=0.05
        For the leaf outputs (standard deviations of the target).
    decision : {"logistic", "softsign", "entmoid"}, default="logistic"
        Differentiable split function of the paper's recipe.
    selector : {"entmax15", "softmax"}, default="entmax15"
        Transformation of the features' logits in the paper's recipe.
    max_epochs, patience : int, default=10000, 200
        Passes over the rows at the latest, and those without a lower validation loss,
        in the paper's recipe.
    constraints : Constraints, dict or None, default=None
        What must hold on every possible row: monotone columns, columns by level or
        together, their number and cost, rows a leaf, costs of errors.
    random_state : int, RandomState instance or None, default=None
        Seeds folds, starts and batches; an int gives the same tree every time on the
        CPU.
    device : str, default="auto"
        Where to train: "cpu", "cuda", "cuda:N"; "auto" takes CUDA where it is.

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

    def __init__(
        self,
        max_depth=GradTreeSettings.max_depth,
        *,
        recipe=GradTreeSettings.recipe,
        max_leaf_nodes=GradTreeSettings.max_leaf_nodes,
        n_restarts=GradTreeSettings.n_restarts,
        n_steps=GradTreeSettings.n_steps,
        batch_size=GradTreeSettings.batch_size,
        learning_rate_index=GradTreeSettings.learning_rate_index,
        learning_rate_values=GradTreeSettings.learning_rate_values,
        learning_rate_leaf=GradTreeSettings.learning_rate_leaf,
        decision=GradTreeSettings.decision,
        selector=GradTreeSettings.selector,
        max_epochs=GradTreeSettings.max_epochs,
        patience=GradTreeSettings.patience,
        constraints=GradTreeSettings.constraints,
        random_state=None,
        device="auto",
    ):
        self.max_depth = max_depth
        self.recipe = recipe
        self.max_leaf_nodes = max_leaf_nodes
        self.n_restarts = n_restarts
        self.n_steps = n_steps
        self.batch_size = batch_size
        self.learning_rate_index = learning_rate_index
        self.learning_rate_values = learning_rate_values
        self.learning_rate_leaf = learning_rate_leaf
        self.decision = decision
        self.selector = selector
        self.max_epochs = max_epochs
        self.patience = patience
        self.constraints = constraints
        self.random_state = random_state
        self.device = device

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

    def _refitted(self, tree, table, weights):
        """Each node predicts the mean of the target."""
        y = table.target.y
        leaf = tree.apply(table.frame)
        return with_node_means(tree, leaf, y[:, None], np.ones(len(y)))

    def _trained_values(self, value, objective):
        """Values in the unit of the table's target."""
        return objective.scale.restore(value)
