"""GradTree: one hard, axis-aligned tree, trained as a whole by gradient descent."""

import numpy as np
import pandas as pd
import torch
from sklearn.utils import check_random_state

from treelab.data.encode import to_float32
from treelab.learners.base import TableClassifier, TableRegressor, TrainingData
from treelab.learners.checks import (
    check_at_least,
    check_between,
    check_choice,
    check_number,
)
from treelab.learners.device import resolve_device
from treelab.learners.folds import assign_folds
from treelab.learners.schedule import CosineDecay
from treelab.learners.starts import start_batch
from treelab.learners.teacher import forest_targets
from treelab.learners.tree_batch import Rows, TreeBatch
from treelab.learners.tree_choice import choose_tree
from treelab.ops.decide import SOFT
from treelab.ops.losses import LOSSES
from treelab.training.loop import TrainResult, train
from treelab.trees.prune import merge_equal, simplify
from treelab.trees.tree import Tree

GREEDY_LEAF_ROWS = (1, 5, 20)  # leaf sizes of the greedy trees that some start from
CROSS_VALIDATED_ROWS = 5_000  # up to here "auto" selects by cross-validation
N_FOLDS = 3
MAX_COLUMNS = 256  # features that one tree may use, where a table has more
BALANCE = (0.0, 0.5, 1.0)  # powers of balanced class weights that "auto" tries
EVALUATED_STEPS = 10  # about so many lie between two looks at the validation loss


class _GradTree:
    """What the classifier and the regressor share."""

    def fit(self, X, y, *, X_valid=None, y_valid=None, callbacks=()):
        """Learn from ``X`` (n_rows, n_columns), ``y`` (n_rows,); return self.

        Parameters
        ----------
        X : DataFrame or array of shape (n_rows, n_columns)
            Raw table: numbers, categories and missing values.
        y : array-like of shape (n_rows,)
            Target.
        X_valid, y_valid : optional
            More rows to select by. Without them a fifth of the rows is held out, or
            every row once, in folds.
        callbacks : sequence of callable
            Hear a ``Progress`` now and then; answering True stops training, and the
            best tree so far is kept.
        """
        self._check_settings()
        device = resolve_device(self.device)
        data = self._read(X, y, X_valid, y_valid, numbers="quantile")
        random = check_random_state(self.random_state)
        generator = torch.Generator(device).manual_seed(int(random.randint(2**31)))
        rows, target = self._rows(data, device, seed=int(random.randint(2**31)))
        batch = start_batch(
            rows,
            target,
            depths=self._depths(),
            n_folds=int(rows.fold.max()) + 1,
            n_restarts=self.n_restarts,
            greedy_leaf_rows=GREEDY_LEAF_ROWS if self.greedy_starts else (),
            max_columns=MAX_COLUMNS,
            generator=generator,
            seed=int(random.randint(2**31)),
            soft=self.decision,
            transform=self.selector,
            **self._loss_settings(),
        )
        result = self._train(batch, data, generator, callbacks)
        self.history_ = result.history_frame()
        choice = choose_tree(batch, result.best_loss)
        self.candidates_ = choice.table
        self.start_ = batch.candidates[choice.tree].start
        self.model_ = self._export(batch, choice.tree, choice.weighting, data)
        return self

    @property
    def tree_(self) -> Tree:
        """The fitted tree, thresholds in the units of ``X``."""
        return self.model_

    def _check_settings(self):
        """Refuse settings out of range before any work is done."""
        check_between("depth", self.depth, 1, 12)
        check_choice("search_depth", self.search_depth, (True, False))
        check_choice("greedy_starts", self.greedy_starts, (True, False))
        check_at_least("n_restarts", self.n_restarts, 1)
        check_choice("selection", self.selection, ("auto", "cv", "holdout"))
        check_choice("teacher", self.teacher, (None, "forest"))
        check_choice("decision", self.decision, SOFT)
        check_choice("selector", self.selector, ("entmax15", "softmax"))
        for part in ("index", "values", "leaf"):
            name = f"learning_rate_{part}"
            check_number(name, getattr(self, name), above=0)
        for name in ("max_epochs", "max_steps", "patience", "batch_size"):
            check_at_least(name, getattr(self, name), 1)

    def _depths(self) -> tuple[int, ...]:
        """Depths that are trained side by side, ascending."""
        if not self.search_depth:
            return (self.depth,)
        return tuple(range(self.depth, 0, -2))[::-1]

    def _hold_out(self, target):
        """Hold no rows out for good where folds take turns."""
        if self._selection_for(len(target)) == "cv":
            rows = np.arange(len(target))
            return rows, rows[:0]
        return super()._hold_out(target)

    def _selection_for(self, n_rows: int) -> str:
        """How the tree is selected on a table of this many rows."""
        if n_rows < 10:  # too few to part
            return "holdout"
        if self.selection == "auto":
            return "cv" if n_rows <= CROSS_VALIDATED_ROWS else "holdout"
        return self.selection

    def _rows(self, data: TrainingData, device, *, seed) -> tuple[Rows, np.ndarray]:
        """Put the table on the device and say which fold holds out which row."""
        target = np.concatenate([data.y, data.y_valid])
        self.selection_ = self._selection_for(len(target))
        if self.selection_ == "cv":
            fold, n_train = assign_folds(target, N_FOLDS, seed=seed), len(target)
        else:
            fold = np.repeat([-1, 0], [len(data.y), len(data.y_valid)])
            n_train = len(data.y)
        weight = self._row_weights(target, n_train)
        x = to_float32(np.concatenate([data.X, data.X_valid]))
        n_classes = 0 if self.labels() is None else len(self.labels())
        taught = truth = self._scaled_target(target, n_train)
        if self.teacher == "forest":
            taught = forest_targets(x, truth, n_train, n_classes=n_classes, seed=seed)
        rows = Rows(
            x=torch.tensor(x, device=device),
            target=torch.tensor(taught, device=device),
            truth=torch.tensor(truth, device=device),
            weight=torch.tensor(weight, dtype=torch.float32, device=device),
            fold=torch.tensor(fold, device=device),
            n_train=n_train,
            n_classes=n_classes,
        )
        return rows, target

    def _teacher_note(self) -> tuple[str, ...]:
        """Say whom the tree imitates."""
        if self.teacher is None:
            return ()
        return ("Trained to imitate a random forest; leaves mix its answers in.",)

    def _train(self, batch: TreeBatch, data, generator, callbacks) -> TrainResult:
        """Train all candidates; on return each is at its best, its start included."""
        n_train = batch.rows.n_train
        batch_size = min(self.batch_size, n_train)
        steps = max(1, round(n_train / batch_size))  # an epoch
        max_epochs = min(self.max_epochs, -(-self.max_steps // steps))
        optimizer = torch.optim.Adam(
            [
                {"params": [batch.logits], "lr": self.learning_rate_index},
                {"params": [batch.threshold], "lr": self.learning_rate_values},
                {"params": [batch.leaf_value], "lr": self.learning_rate_leaf},
            ],
            fused=True,
        )
        at_start = [p.detach().clone() for p in batch.parameters()]
        loss_at_start = batch.valid_loss().clone()
        result = train(
            batch,
            optimizer,
            n_rows=n_train,
            batch_size=batch_size,
            max_epochs=max_epochs,
            patience=self.patience,
            generator=generator,
            callbacks=callbacks,
            snapshot=lambda: self._export(batch, batch.leader(), 0, data),
            after_step=CosineDecay(optimizer, max_epochs * steps),
            evaluate_every=max(1, round(EVALUATED_STEPS / steps)),
        )
        batch.reset(at_start, loss_at_start <= result.best_loss)
        result.best_loss = torch.minimum(result.best_loss, loss_at_start)
        return result

    def _export(self, batch: TreeBatch, chosen: int, weighting: int, data) -> Tree:
        """Rewrite one candidate in the user's columns and units, its leaves refitted.

        The leaves are refitted, and the nodes' numbers taken, on every row that the
        selection did not set aside.
        """
        frame, target = data.frame, data.y
        if self.selection_ == "cv" and len(data.y_valid):
            frame = pd.concat([frame, data.frame_valid])
            target = np.concatenate([target, data.y_valid])
        feature, threshold = batch.splits(chosen)
        raw, missing_left = data.encoder.axis_splits(feature, threshold)
        # Encoded as at prediction time: cross-fitted categories serve training alone.
        encoded = torch.tensor(
            to_float32(data.encoder.transform(frame)), device=batch.rows.x.device
        )
        value = batch.refitted(chosen, encoded, weighting)
        labels = self.labels()
        tree = Tree.complete(
            data.encoder.features_,
            feature,
            raw,
            missing_left,
            self._leaf_values(value),
            classes=labels,
            notes=self._notes(batch.rows, weighting) + self._teacher_note(),
        )
        told = target if labels is None else self.classes_[target]
        tree = simplify(tree.with_rows(frame, told))
        return self._merge(tree)


class GradTreeClassifier(_GradTree, TableClassifier):
    """Hard, axis-aligned classification tree trained by gradient descent.

    All splits learn together: the forward pass is the hard tree, the backward pass
    takes the gradient of soft choices (straight-through). Restarts, depths and folds
    train side by side as one batch; some restarts begin as greedy trees, so the
    result on validation is never worse than greedy.

    Source: Marton, Ludtke, Bartelt and Stuckenschmidt, "GradTree: Learning
    Axis-Aligned Decision Trees with Gradient Descent", AAAI 2024, arXiv:2305.03515.

    Parameters
    ----------
    depth : int, default=8
        Most splits on the way to a leaf, 1 to 12, before empty branches are pruned.
    search_depth : bool, default=True
        Whether shallower trees (``depth - 2``, ``depth - 4``, ...) are trained beside
        the deepest, and validation chooses.
    n_restarts : int, default=8
        Trees of each depth and fold. The first three start as greedy trees with at
        least 1, 5 and 20 rows a leaf, the others at random.
    greedy_starts : bool, default=True
        Whether some restarts begin as greedy trees.
    selection : {"auto", "cv", "holdout"}, default="auto"
        Whether trees are chosen by cross-validation inside the batch or by one
        validation set; "auto" cross-validates up to 5,000 rows.
    loss : {"cross_entropy", "focal", "poly"}, default="cross_entropy"
        See ``treelab.ops.losses.class_loss``.
    focal_gamma, poly_epsilon : float, default=2.0, 1.0
        Of the focal and the poly loss.
    teacher : None or "forest", default=None
        "forest" trains on soft targets: half the label, half what a random forest
        says of rows that its trees did not see.
    decision : {"logistic", "softsign", "entmoid"}, default="logistic"
        Whose gradient a hard decision takes.
    selector : {"entmax15", "softmax"}, default="entmax15"
        Whose gradient the choice of a feature takes.
    learning_rate_index, learning_rate_values, learning_rate_leaf : float
        Of the features' preferences, of the thresholds (standard normal scores) and
        of the leaves (logits).
    max_epochs : int, default=300
        Passes over the rows at the latest.
    max_steps : int, default=1000
        Steps of gradient descent at the latest; ends training on large tables.
    patience : int, default=50
        Epochs without a better validation loss of any candidate until training ends.
    batch_size : int, default=256
        Rows a step.
    class_weight : "auto", None, "balanced" or dict of label to weight, default="auto"
        What a row of each class counts, in training and in the leaves. "auto" trains
        with equal weights; the leaves answer with equal, balanced, or in-between
        weights (the square root of balanced), whichever has the best macro F1 on
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
        Depth, fold, start, validation loss and score of each candidate, and which was
        chosen. The score is macro F1 for classes, minus the loss for regression.
    start_ : str
        How the chosen tree began: "random" or "greedy, ... rows a leaf".
    selection_ : str
        "cv" or "holdout".
    """

    def __init__(
        self,
        depth=8,
        *,
        search_depth=True,
        n_restarts=8,
        greedy_starts=True,
        selection="auto",
        loss="cross_entropy",
        focal_gamma=2.0,
        poly_epsilon=1.0,
        teacher=None,
        decision="logistic",
        selector="entmax15",
        learning_rate_index=0.02,
        learning_rate_values=0.02,
        learning_rate_leaf=0.05,
        max_epochs=300,
        max_steps=1000,
        patience=50,
        batch_size=256,
        class_weight="auto",
        merge_leaves=True,
        random_state=None,
        device="auto",
    ):
        self.depth = depth
        self.search_depth = search_depth
        self.n_restarts = n_restarts
        self.greedy_starts = greedy_starts
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
        self.class_weight = class_weight
        self.merge_leaves = merge_leaves
        self.random_state = random_state
        self.device = device

    def _check_settings(self):
        """Refuse settings out of range before any work is done."""
        super()._check_settings()
        check_choice("loss", self.loss, LOSSES)
        check_choice("merge_leaves", self.merge_leaves, (True, False))
        if isinstance(self.class_weight, str):
            check_choice("class_weight", self.class_weight, ("auto", "balanced"))
        check_number("focal_gamma", self.focal_gamma, minimum=0)
        check_number("poly_epsilon", self.poly_epsilon)

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

    def _notes(self, rows, weighting):
        """Say how the classes are weighted, where they are."""
        weight = rows.weight[: rows.n_train, weighting]
        if bool((weight == weight[0]).all()):
            return ()
        codes = rows.truth[: rows.n_train]
        told = [
            f"{label} {float(weight[codes == code][0]):.2g}"
            for code, label in enumerate(self.labels())
            if bool((codes == code).any())
        ]
        return (f"Shares weigh the rows of each class: {', '.join(told)}.",)

    def _scaled_target(self, target, n_train):
        """Class codes stay as they are."""
        return target

    def _leaf_values(self, value):
        """Class shares stay as they are."""
        return value

    def _merge(self, tree):
        """Merge sibling leaves that predict the same class."""
        return merge_equal(tree, same_answer=True) if self.merge_leaves else tree


class GradTreeRegressor(_GradTree, TableRegressor):
    """Hard, axis-aligned regression tree trained by gradient descent.

    All splits learn together: the forward pass is the hard tree, the backward pass
    takes the gradient of soft choices (straight-through). Restarts, depths and folds
    train side by side as one batch; some restarts begin as greedy trees, so the
    result on validation is never worse than greedy. The target is standardised.

    Source: Marton, Ludtke, Bartelt and Stuckenschmidt, "GradTree: Learning
    Axis-Aligned Decision Trees with Gradient Descent", AAAI 2024, arXiv:2305.03515.

    Parameters
    ----------
    depth : int, default=8
        Most splits on the way to a leaf, 1 to 12, before empty branches are pruned.
    search_depth : bool, default=True
        Whether shallower trees (``depth - 2``, ``depth - 4``, ...) are trained beside
        the deepest, and validation chooses.
    n_restarts : int, default=8
        Trees of each depth and fold. The first three start as greedy trees with at
        least 1, 5 and 20 rows a leaf, the others at random.
    greedy_starts : bool, default=True
        Whether some restarts begin as greedy trees.
    selection : {"auto", "cv", "holdout"}, default="auto"
        Whether trees are chosen by cross-validation inside the batch or by one
        validation set; "auto" cross-validates up to 5,000 rows.
    teacher : None or "forest", default=None
        "forest" trains on soft targets: half the label, half what a random forest
        says of rows that its trees did not see.
    decision : {"logistic", "softsign", "entmoid"}, default="logistic"
        Whose gradient a hard decision takes.
    selector : {"entmax15", "softmax"}, default="entmax15"
        Whose gradient the choice of a feature takes.
    learning_rate_index, learning_rate_values, learning_rate_leaf : float
        Of the features' preferences, of the thresholds (standard normal scores) and
        of the leaves (standard deviations of the target).
    max_epochs : int, default=300
        Passes over the rows at the latest.
    max_steps : int, default=1000
        Steps of gradient descent at the latest; ends training on large tables.
    patience : int, default=50
        Epochs without a better validation loss of any candidate until training ends.
    batch_size : int, default=256
        Rows a step.
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
        Depth, fold, start, validation loss and score of each candidate, and which was
        chosen. The score is macro F1 for classes, minus the loss for regression.
    start_ : str
        How the chosen tree began: "random" or "greedy, ... rows a leaf".
    selection_ : str
        "cv" or "holdout".
    """

    def __init__(
        self,
        depth=8,
        *,
        search_depth=True,
        n_restarts=8,
        greedy_starts=True,
        selection="auto",
        teacher=None,
        decision="logistic",
        selector="entmax15",
        learning_rate_index=0.02,
        learning_rate_values=0.02,
        learning_rate_leaf=0.05,
        max_epochs=300,
        max_steps=1000,
        patience=50,
        batch_size=256,
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
