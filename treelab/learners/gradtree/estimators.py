"""GradTree: one hard, axis-aligned tree, trained as a whole by gradient descent."""

import numpy as np

from treelab.learners.common.base import TableClassifier, TableRegressor
from treelab.learners.common.objective import ClassObjective, RegressionObjective
from treelab.learners.common.target_scale import TargetScale
from treelab.learners.gradtree.fit import GradTreeFit
from treelab.learners.gradtree.settings import GradTreeSettings
from treelab.trees.pruning.simplify import merge_equal

# Powers of balanced class weights that "auto" tries.
BALANCE = (0.0, 0.25, 0.5, 0.75, 1.0)


class GradTreeClassifier(GradTreeFit, TableClassifier):
    """Hard, axis-aligned classification tree trained by gradient descent.

    All splits learn together: the forward pass is the hard tree, the backward pass
    takes the gradient of soft choices (straight-through). Restarts, depths and folds
    train side by side as one batch; some restarts are initialised from greedy trees,
    so the result on validation is never worse than greedy. Cross-validation may prefer
    a tree that was not trained: a greedy one of all rows or, with more than two
    classes, one distilled from a random forest. ``start_`` and the tree's notes say so.

    Source: Marton, Ludtke, Bartelt and Stuckenschmidt, "GradTree: Learning
    Axis-Aligned Decision Trees with Gradient Descent", AAAI 2024, arXiv:2305.03515.

    Parameters
    ----------
    max_depth : int, default=10
        Most splits on the way to a leaf, 1 to 12, before empty branches are pruned.
    search_depth : bool, default=True
        Whether shallower trees (``max_depth - 2``, ``max_depth - 4``, ...) are trained
        beside the deepest, and validation chooses.
    n_restarts : int, default=8
        Trees of each depth and fold, twice as many up to depth 4. The first three are
        initialised from greedy trees with at least 1, 5 and 20 rows a leaf, the others
        at random; with more than two classes not those too deep for the rows.
    greedy_starts : bool, default=True
        Whether some restarts are initialised from greedy trees.
    distilled_trees : bool, default=True
        Whether trees distilled from a random forest join the choice, where there are
        more than two classes and trees are selected by cross-validation. Each is grown
        on the forest's predictions for the rows, and for synthetic rows made by mixing
        them; the forest is not part of the model.
    selection : {"auto", "cv", "holdout"}, default="auto"
        Whether trees are chosen by cross-validation inside the batch or by one
        validation set; "auto" cross-validates up to 5,000 rows.
    loss : {"cross_entropy", "focal", "poly", "brier"}, default="cross_entropy"
        See ``treelab.ops.losses.class_loss``.
    focal_gamma, poly_epsilon : float, default=2.0, 1.0
        Of the focal and the poly loss.
    decision : {"logistic", "softsign", "entmoid"}, default="logistic"
        Differentiable split function whose gradient a hard split takes.
    selector : {"entmax15", "softmax"}, default="entmax15"
        Transformation whose gradient the choice of a feature takes.
    learning_rate_index, learning_rate_values : float, default=0.02
        For the feature selectors and for the thresholds (standard normal scores).
    learning_rate_leaf : float, default=0.05
        For the leaf outputs (logits).
    max_epochs : int, default=300
        Passes over the rows at the latest.
    max_steps : int, default=400
        Steps of gradient descent at the latest; ends training on large tables.
    patience : int, default=50
        Epochs without a lower validation loss of any candidate until training ends.
    batch_size : int, default=256
        Rows in each step.
    averaged_checkpoints : int, default=1
        With 2 or more, the mean of that many of a tree's best checkpoints is tried at
        the end, and retained where its validation loss is lower.
    smote : bool, default=False
        Whether SMOTE makes training rows of the rarer classes, until all classes have
        as many. Selects on one validation set, without made rows.
    class_weight : "auto", None, "balanced" or dict of label to weight, default="auto"
        Weight of a row of each class, in training and in the leaves. "auto" trains
        with equal weights; the leaves predict with equal, balanced, or in-between
        weights (powers of the balanced ones), whichever has the best macro F1 on
        validation.
    merge_leaves : bool, default=True
        Whether sibling leaves that predict the same class become one. Predicted
        classes stay; probabilities get coarser, the tree smaller.
    random_state : int, RandomState instance or None, default=None
        Seeds folds, starts and batches; an int gives the same tree every time on the
        CPU.
    device : str, default="auto"
        Where to train: "cpu", "cuda", "cuda:N"; "auto" takes CUDA where it is.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree, thresholds in the units of ``X``.
    history_ : DataFrame
        Epoch, training and validation loss (nats) of the leading
        candidate, seconds.
    candidates_ : DataFrame
        Depth, fold (-1: of all rows, not trained), start, validation loss, agreement
        with the vote and score on the rows it did not see of each candidate, and which
        was chosen. Agreement and score are macro F1, or minus the mean squared
        difference for regression.
    start_ : str
        How the chosen tree began: "random", "greedy, ... rows a leaf" or
        "distilled from a forest, ... leaves".
    selection_ : {"cv", "holdout"}
        How the tree was chosen.
    """

    def __init__(
        self,
        max_depth=GradTreeSettings.max_depth,
        *,
        search_depth=GradTreeSettings.search_depth,
        n_restarts=GradTreeSettings.n_restarts,
        greedy_starts=GradTreeSettings.greedy_starts,
        distilled_trees=GradTreeSettings.distilled_trees,
        selection=GradTreeSettings.selection,
        loss=GradTreeSettings.loss,
        focal_gamma=GradTreeSettings.focal_gamma,
        poly_epsilon=GradTreeSettings.poly_epsilon,
        decision=GradTreeSettings.decision,
        selector=GradTreeSettings.selector,
        learning_rate_index=GradTreeSettings.learning_rate_index,
        learning_rate_values=GradTreeSettings.learning_rate_values,
        learning_rate_leaf=GradTreeSettings.learning_rate_leaf,
        max_epochs=GradTreeSettings.max_epochs,
        max_steps=GradTreeSettings.max_steps,
        patience=GradTreeSettings.patience,
        batch_size=GradTreeSettings.batch_size,
        averaged_checkpoints=GradTreeSettings.averaged_checkpoints,
        smote=GradTreeSettings.smote,
        class_weight=GradTreeSettings.class_weight,
        merge_leaves=GradTreeSettings.merge_leaves,
        random_state=None,
        device="auto",
    ):
        self.max_depth = max_depth
        self.search_depth = search_depth
        self.n_restarts = n_restarts
        self.greedy_starts = greedy_starts
        self.distilled_trees = distilled_trees
        self.selection = selection
        self.loss = loss
        self.focal_gamma = focal_gamma
        self.poly_epsilon = poly_epsilon
        self.decision = decision
        self.selector = selector
        self.learning_rate_index = learning_rate_index
        self.learning_rate_values = learning_rate_values
        self.learning_rate_leaf = learning_rate_leaf
        self.max_epochs = max_epochs
        self.max_steps = max_steps
        self.patience = patience
        self.batch_size = batch_size
        self.averaged_checkpoints = averaged_checkpoints
        self.smote = smote
        self.class_weight = class_weight
        self.merge_leaves = merge_leaves
        self.random_state = random_state
        self.device = device

    def _objective(self, settings, y):
        """Class codes, weighted as the settings say; "auto" has several weightings."""
        if settings.class_weight == "auto":
            n_rows = np.bincount(y, minlength=len(self.classes_))
            balanced = len(y) / np.maximum(n_rows, 1)
            weights = balanced[:, None] ** np.array(BALANCE)  # (n_classes, W)
            weights = weights / weights[y].mean(0)
        else:
            weights = self._class_weights(y)[:, None]
        return ClassObjective(
            class_weights=weights,
            loss_kind=settings.loss,
            focal_gamma=settings.focal_gamma,
            poly_epsilon=settings.poly_epsilon,
        )

    def _leaf_values(self, objective, value):
        """Class probabilities, which float32 left a little off a sum of one."""
        return value / value.sum(axis=1, keepdims=True)

    def _notes(self, objective, weighting):
        """Note how the classes are weighted, where they are."""
        return self._weights_note(objective.class_weights[:, weighting])

    def _merge(self, tree):
        """Merge sibling leaves that predict the same class."""
        return merge_equal(tree, same_class=True) if self.merge_leaves else tree


class GradTreeRegressor(GradTreeFit, TableRegressor):
    """Hard, axis-aligned regression tree trained by gradient descent.

    All splits learn together: the forward pass is the hard tree, the backward pass
    takes the gradient of soft choices (straight-through). Restarts, depths and folds
    train side by side as one batch; some restarts are initialised from greedy trees,
    so the result on validation is never worse than greedy. Cross-validation may prefer
    a greedy tree of all rows, which was not trained; the tree's notes say so. The
    target is standardised.

    Source: Marton, Ludtke, Bartelt and Stuckenschmidt, "GradTree: Learning
    Axis-Aligned Decision Trees with Gradient Descent", AAAI 2024, arXiv:2305.03515.

    Parameters
    ----------
    max_depth : int, default=10
        Most splits on the way to a leaf, 1 to 12, before empty branches are pruned.
    search_depth : bool, default=True
        Whether shallower trees (``max_depth - 2``, ``max_depth - 4``, ...) are trained
        beside the deepest, and validation chooses.
    n_restarts : int, default=8
        Trees of each depth and fold, twice as many up to depth 4. The first three are
        initialised from greedy trees with at least 1, 5 and 20 rows a leaf, the others
        at random.
    greedy_starts : bool, default=True
        Whether some restarts are initialised from greedy trees.
    selection : {"auto", "cv", "holdout"}, default="auto"
        Whether trees are chosen by cross-validation inside the batch or by one
        validation set; "auto" cross-validates up to 5,000 rows.
    decision : {"logistic", "softsign", "entmoid"}, default="logistic"
        Differentiable split function whose gradient a hard split takes.
    selector : {"entmax15", "softmax"}, default="entmax15"
        Transformation whose gradient the choice of a feature takes.
    learning_rate_index, learning_rate_values : float, default=0.02
        For the feature selectors and for the thresholds (standard normal scores).
    learning_rate_leaf : float, default=0.05
        For the leaf outputs (standard deviations of the target).
    max_epochs : int, default=300
        Passes over the rows at the latest.
    max_steps : int, default=400
        Steps of gradient descent at the latest; ends training on large tables.
    patience : int, default=50
        Epochs without a lower validation loss of any candidate until training ends.
    batch_size : int, default=256
        Rows in each step.
    averaged_checkpoints : int, default=1
        With 2 or more, the mean of that many of a tree's best checkpoints is tried at
        the end, and retained where its validation loss is lower.
    random_state : int, RandomState instance or None, default=None
        Seeds folds, starts and batches; an int gives the same tree every time on the
        CPU.
    device : str, default="auto"
        Where to train: "cpu", "cuda", "cuda:N"; "auto" takes CUDA where it is.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree, thresholds in the units of ``X``.
    history_ : DataFrame
        Epoch, training and validation loss (variances of the target) of the leading
        candidate, seconds.
    candidates_ : DataFrame
        Depth, fold (-1: of all rows, not trained), start, validation loss, agreement
        with the vote and score on the rows it did not see of each candidate, and which
        was chosen. Agreement and score are macro F1, or minus the mean squared
        difference for regression.
    start_ : str
        How the chosen tree began: "random" or "greedy, ... rows a leaf".
    selection_ : {"cv", "holdout"}
        How the tree was chosen.
    """

    def __init__(
        self,
        max_depth=GradTreeSettings.max_depth,
        *,
        search_depth=GradTreeSettings.search_depth,
        n_restarts=GradTreeSettings.n_restarts,
        greedy_starts=GradTreeSettings.greedy_starts,
        selection=GradTreeSettings.selection,
        decision=GradTreeSettings.decision,
        selector=GradTreeSettings.selector,
        learning_rate_index=GradTreeSettings.learning_rate_index,
        learning_rate_values=GradTreeSettings.learning_rate_values,
        learning_rate_leaf=GradTreeSettings.learning_rate_leaf,
        max_epochs=GradTreeSettings.max_epochs,
        max_steps=GradTreeSettings.max_steps,
        patience=GradTreeSettings.patience,
        batch_size=GradTreeSettings.batch_size,
        averaged_checkpoints=GradTreeSettings.averaged_checkpoints,
        random_state=None,
        device="auto",
    ):
        self.max_depth = max_depth
        self.search_depth = search_depth
        self.n_restarts = n_restarts
        self.greedy_starts = greedy_starts
        self.selection = selection
        self.decision = decision
        self.selector = selector
        self.learning_rate_index = learning_rate_index
        self.learning_rate_values = learning_rate_values
        self.learning_rate_leaf = learning_rate_leaf
        self.max_epochs = max_epochs
        self.max_steps = max_steps
        self.patience = patience
        self.batch_size = batch_size
        self.averaged_checkpoints = averaged_checkpoints
        self.random_state = random_state
        self.device = device

    def _objective(self, settings, y):
        """The target in standard deviations from its mean, by the training rows."""
        return RegressionObjective(TargetScale.of(y))

    def _leaf_values(self, objective, value):
        """Means in the unit of the target."""
        return objective.scale.restore(value)
