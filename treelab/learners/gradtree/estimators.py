"""GradTree: one hard, axis-aligned tree, trained as a whole by gradient descent."""

import numpy as np

from treelab.learners.common.base import TableClassifier, TableRegressor
from treelab.learners.common.checks import check_choice, check_number
from treelab.learners.gradtree.fit import GradTreeFit
from treelab.learners.gradtree.oversample import smote_rows
from treelab.ops.losses import LOSSES
from treelab.trees.pruning.simplify import merge_equal

# Powers of balanced class weights that "auto" tries.
BALANCE = (0.0, 0.25, 0.5, 0.75, 1.0)


class GradTreeClassifier(GradTreeFit, TableClassifier):
    """Hard, axis-aligned classification tree trained by gradient descent.

    All splits learn together: the forward pass is the hard tree, the backward pass
    takes the gradient of soft choices (straight-through). Restarts, depths and folds
    train side by side as one batch; some restarts begin as greedy trees, so the
    result on validation is never worse than greedy. Cross-validation may prefer a tree
    that was not trained: a greedy one of all rows or, with more than two classes, one
    that a random forest taught. ``start_`` and the tree's notes say so.

    Source: Marton, Ludtke, Bartelt and Stuckenschmidt, "GradTree: Learning
    Axis-Aligned Decision Trees with Gradient Descent", AAAI 2024, arXiv:2305.03515.

    Parameters
    ----------
    depth : int, default=10
        Most splits on the way to a leaf, 1 to 12, before empty branches are pruned.
    search_depth : bool, default=True
        Whether shallower trees (``depth - 2``, ``depth - 4``, ...) are trained beside
        the deepest, and validation chooses.
    n_restarts : int, default=8
        Trees of each depth and fold, twice as many up to depth 4. The first three
        start as greedy trees with at least 1, 5 and 20 rows a leaf, the others at
        random; with more than two classes not those too deep for the rows.
    greedy_starts : bool, default=True
        Whether some restarts begin as greedy trees.
    taught_trees : bool, default=True
        Whether trees that a random forest taught join the choice, where there are more
        than two classes, trees are selected by cross-validation and `teacher` is
        "none". Each grew on what the forest says of the rows, and of rows made by
        mixing them; the forest is not kept.
    selection : {"auto", "cv", "holdout"}, default="auto"
        Whether trees are chosen by cross-validation inside the batch or by one
        validation set; "auto" cross-validates up to 5,000 rows.
    loss : {"cross_entropy", "focal", "poly", "brier"}, default="cross_entropy"
        See ``treelab.ops.losses.class_loss``.
    focal_gamma, poly_epsilon : float, default=2.0, 1.0
        Of the focal and the poly loss.
    teacher : {"none", "forest", "grande"}, default="none"
        Trains on soft targets: half the label, half what a random forest, or a GRANDE
        ensemble, says of rows that its trees did not see.
    decision : {"logistic", "softsign", "entmoid"}, default="logistic"
        Whose gradient a hard decision takes.
    selector : {"entmax15", "softmax"}, default="entmax15"
        Whose gradient the choice of a feature takes.
    learning_rate_index, learning_rate_values, learning_rate_leaf : float
        Of the features' preferences, of the thresholds (standard normal scores) and
        of the leaves (logits).
    max_epochs : int, default=300
        Passes over the rows at the latest.
    max_steps : int, default=400
        Steps of gradient descent at the latest; ends training on large tables.
    patience : int, default=50
        Epochs without a better validation loss of any candidate until training ends.
    batch_size : int, default=256
        Rows a step.
    averaged_checkpoints : int, default=1
        With 2 or more, the mean of that many of a tree's best checkpoints is tried at
        the end, and kept where its validation loss is lower.
    smote : bool, default=False
        Whether SMOTE makes training rows of the rarer classes, until all classes have
        as many. Selects on one validation set, without made rows.
    class_weight : "auto", None, "balanced" or dict of label to weight, default="auto"
        What a row of each class counts, in training and in the leaves. "auto" trains
        with equal weights; the leaves answer with equal, balanced, or in-between
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
        Epoch, training and validation loss (nats) of the leading candidate, seconds.
    candidates_ : DataFrame
        Depth, fold (-1: of all rows, not trained), start, validation loss, agreement
        with the vote and score on the rows it did not see of each candidate, and which
        was chosen. Agreement and score are macro F1, or minus the mean squared
        difference for regression.
    start_ : str
        How the chosen tree began: "random", "greedy, ... rows a leaf" or "taught by a
        forest, ... leaves".
    selection_ : str
        "cv" or "holdout".
    """

    def __init__(
        self,
        depth=10,
        *,
        search_depth=True,
        n_restarts=8,
        greedy_starts=True,
        taught_trees=True,
        selection="auto",
        loss="cross_entropy",
        focal_gamma=2.0,
        poly_epsilon=1.0,
        teacher="none",
        decision="logistic",
        selector="entmax15",
        learning_rate_index=0.02,
        learning_rate_values=0.02,
        learning_rate_leaf=0.05,
        max_epochs=300,
        max_steps=400,
        patience=50,
        batch_size=256,
        averaged_checkpoints=1,
        smote=False,
        class_weight="auto",
        merge_leaves=True,
        random_state=None,
        device="auto",
    ):
        self.depth = depth
        self.search_depth = search_depth
        self.n_restarts = n_restarts
        self.greedy_starts = greedy_starts
        self.taught_trees = taught_trees
        self.selection = selection
        self.loss = loss
        self.focal_gamma = focal_gamma
        self.poly_epsilon = poly_epsilon
        self.teacher = teacher
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

    def _check_settings(self):
        """Refuse settings out of range before any work is done."""
        super()._check_settings()
        check_choice("loss", self.loss, LOSSES)
        check_choice("merge_leaves", self.merge_leaves, (True, False))
        check_choice("smote", self.smote, (True, False))
        check_choice("taught_trees", self.taught_trees, (True, False))
        if self.smote and self.selection == "cv":
            raise ValueError(
                "smote=True selects on one validation set: use selection='holdout' or "
                "'auto'."
            )
        if self.smote and self.teacher != "none":
            raise ValueError(
                "smote=True cannot be joined with a teacher, who would learn from "
                "made rows: set one of the two."
            )
        if isinstance(self.class_weight, str):
            check_choice("class_weight", self.class_weight, ("auto", "balanced"))
        check_number("focal_gamma", self.focal_gamma, minimum=0)
        check_number("poly_epsilon", self.poly_epsilon)

    def _wants_taught_trees(self) -> bool:
        """With two classes they were measured to add nothing."""
        alone = self.teacher == "none"
        return self.taught_trees and alone and len(self.labels()) > 2

    def _loss_settings(self) -> dict:
        """What the loss needs to know."""
        return {
            "loss": self.loss,
            "focal_gamma": self.focal_gamma,
            "poly_epsilon": self.poly_epsilon,
        }

    def _row_weights(self, target, n_train):
        """Weight (n, W) of each row by its class, under each weighting."""
        if self.class_weight != "auto":
            return self._class_weights(target[:n_train])[target][:, None]
        balanced = n_train / np.maximum(np.bincount(target[:n_train]), 1)
        weights = balanced[:, None] ** np.array(BALANCE)  # (C, W)
        weights = weights[target]  # (n, W)
        return weights / weights[:n_train].mean(0)

    @property
    def _makes_rows(self):
        """Whether SMOTE makes rows."""
        return self.smote

    def _made_rows(self, x, y, seed):
        """Rows of the rarer classes, made by SMOTE; none without it."""
        if not self.smote:
            return super()._made_rows(x, y, seed)
        return smote_rows(x, y, seed=seed)

    def _notes(self, rows, weighting):
        """Say how the classes are weighted, where they are."""
        codes = rows.truth[: rows.n_train].cpu().numpy()
        weight = rows.weight[: rows.n_train, weighting].cpu().numpy()
        counts = np.bincount(codes, minlength=rows.n_classes)
        total = np.bincount(codes, weight, minlength=rows.n_classes)
        return self._weights_note(total / np.maximum(counts, 1))

    def _scaled_target(self, target, n_train):
        """Class codes stay as they are."""
        return target

    def _leaf_values(self, value):
        """Class shares, which float32 left a little off one."""
        return value / value.sum(axis=1, keepdims=True)

    def _merge(self, tree):
        """Merge sibling leaves that predict the same class."""
        return merge_equal(tree, same_answer=True) if self.merge_leaves else tree


class GradTreeRegressor(GradTreeFit, TableRegressor):
    """Hard, axis-aligned regression tree trained by gradient descent.

    All splits learn together: the forward pass is the hard tree, the backward pass
    takes the gradient of soft choices (straight-through). Restarts, depths and folds
    train side by side as one batch; some restarts begin as greedy trees, so the
    result on validation is never worse than greedy. Cross-validation may prefer a
    greedy tree of all rows, which was not trained; the tree's notes say so. The target
    is standardised.

    Source: Marton, Ludtke, Bartelt and Stuckenschmidt, "GradTree: Learning
    Axis-Aligned Decision Trees with Gradient Descent", AAAI 2024, arXiv:2305.03515.

    Parameters
    ----------
    depth : int, default=10
        Most splits on the way to a leaf, 1 to 12, before empty branches are pruned.
    search_depth : bool, default=True
        Whether shallower trees (``depth - 2``, ``depth - 4``, ...) are trained beside
        the deepest, and validation chooses.
    n_restarts : int, default=8
        Trees of each depth and fold, twice as many up to depth 4. The first three
        start as greedy trees with at least 1, 5 and 20 rows a leaf, the others at
        random.
    greedy_starts : bool, default=True
        Whether some restarts begin as greedy trees.
    selection : {"auto", "cv", "holdout"}, default="auto"
        Whether trees are chosen by cross-validation inside the batch or by one
        validation set; "auto" cross-validates up to 5,000 rows.
    teacher : {"none", "forest", "grande"}, default="none"
        Trains on soft targets: half the label, half what a random forest, or a GRANDE
        ensemble, says of rows that its trees did not see.
    decision : {"logistic", "softsign", "entmoid"}, default="logistic"
        Whose gradient a hard decision takes.
    selector : {"entmax15", "softmax"}, default="entmax15"
        Whose gradient the choice of a feature takes.
    learning_rate_index, learning_rate_values, learning_rate_leaf : float
        Of the features' preferences, of the thresholds (standard normal scores) and
        of the leaves (standard deviations of the target).
    max_epochs : int, default=300
        Passes over the rows at the latest.
    max_steps : int, default=400
        Steps of gradient descent at the latest; ends training on large tables.
    patience : int, default=50
        Epochs without a better validation loss of any candidate until training ends.
    batch_size : int, default=256
        Rows a step.
    averaged_checkpoints : int, default=1
        With 2 or more, the mean of that many of a tree's best checkpoints is tried at
        the end, and kept where its validation loss is lower.
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
    selection_ : str
        "cv" or "holdout".
    """

    def __init__(
        self,
        depth=10,
        *,
        search_depth=True,
        n_restarts=8,
        greedy_starts=True,
        selection="auto",
        teacher="none",
        decision="logistic",
        selector="entmax15",
        learning_rate_index=0.02,
        learning_rate_values=0.02,
        learning_rate_leaf=0.05,
        max_epochs=300,
        max_steps=400,
        patience=50,
        batch_size=256,
        averaged_checkpoints=1,
        random_state=None,
        device="auto",
    ):
        self.depth = depth
        self.search_depth = search_depth
        self.n_restarts = n_restarts
        self.greedy_starts = greedy_starts
        self.selection = selection
        self.teacher = teacher
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

    def _loss_settings(self) -> dict:
        """Squared error has no settings."""
        return {}

    def _row_weights(self, target, n_train):
        """Rows count alike."""
        return np.ones((len(target), 1))

    def _notes(self, rows, weighting):
        """Nothing needs saying."""
        return ()

    def _scaled_target(self, target, n_train):
        """Standardise by the training rows; a constant target only moves to 0."""
        self._center = float(target[:n_train].mean())
        self._scale = float(target[:n_train].std()) or 1.0
        return ((target - self._center) / self._scale).astype(np.float32)

    def _leaf_values(self, value):
        """Back into the units of the target."""
        return self._center + self._scale * value

    def _merge(self, tree):
        """No two means are the same answer."""
        return tree
