"""How GradTree learns: folds, depths and restarts side by side, one tree kept."""

import numpy as np
import pandas as pd
import torch
from sklearn.utils import check_random_state

from treelab.data.encoding.table_encoder import to_float32
from treelab.learners.common.base import TrainingData
from treelab.learners.common.checks import (
    check_at_least,
    check_between,
    check_choice,
    check_number,
)
from treelab.learners.common.device import resolve_device
from treelab.learners.common.folds import assign_folds
from treelab.learners.common.rows import FoldedRows
from treelab.learners.gradtree.distilled_trees import taught_trees
from treelab.learners.gradtree.full_data_trees import whole_trees
from treelab.learners.gradtree.starts import start_batch
from treelab.learners.gradtree.teacher import TEACHERS, taught_targets
from treelab.learners.gradtree.tree_batch import TreeBatch
from treelab.learners.gradtree.tree_choice import choose_tree
from treelab.ops.decide import SOFT
from treelab.training.events import Monitor
from treelab.training.loop import TrainingPlan, TrainResult, steps_per_epoch, train
from treelab.training.schedule import cosine_decay
from treelab.trees.centre import centred
from treelab.trees.pruning.simplify import simplify
from treelab.trees.tree import Tree

GREEDY_LEAF_ROWS = (1, 5, 20)  # leaf sizes of the greedy trees that some start from
CROSS_VALIDATED_ROWS = 5_000  # up to here "auto" selects by cross-validation
N_FOLDS = 3
MAX_COLUMNS = 384  # features that one tree may use, times its depth
EVALUATED_STEPS = 10  # about so many lie between two looks at the validation loss


class GradTreeFit:
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
        starts = {
            "greedy_leaf_rows": self._greedy_leaf_rows(),
            "max_columns": MAX_COLUMNS,
            "generator": generator,
            "seed": int(random.randint(2**31)),
            **self._batch_settings(),
        }
        batch = start_batch(
            rows,
            target,
            depths=self._depths(),
            n_folds=int(rows.fold.max()) + 1,
            n_restarts=self.n_restarts,
            **starts,
        )
        whole = None
        if self.selection_ == "cv":
            whole = whole_trees(batch, target, **starts)
        result = self._train(batch, data, generator, callbacks)
        taught = None
        wanted = self.selection_ == "cv" and self._wants_taught_trees()
        if wanted and result.reason != "callback":
            taught = taught_trees(
                rows,
                target,
                depth=self.depth,
                max_columns=MAX_COLUMNS,
                seed=int(random.randint(2**31)),
            )
        choice = choose_tree(batch, result.best_loss, whole, taught)
        self.candidates_ = choice.table
        self.start_ = choice.batch.candidates[choice.tree].start
        self.model_ = self._export(choice.batch, choice.tree, choice.weighting, data)
        return self

    def _wants_taught_trees(self) -> bool:
        """Whether trees that a forest taught join the choice."""
        return False

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
        check_choice("teacher", self.teacher, tuple(TEACHERS))
        check_choice("decision", self.decision, SOFT)
        check_choice("selector", self.selector, ("entmax15", "softmax"))
        for part in ("index", "values", "leaf"):
            name = f"learning_rate_{part}"
            check_number(name, getattr(self, name), above=0)
        for name in (
            "max_epochs",
            "max_steps",
            "patience",
            "batch_size",
            "averaged_checkpoints",
        ):
            check_at_least(name, getattr(self, name), 1)

    def _greedy_leaf_rows(self) -> tuple[int, ...]:
        """Leaf sizes of the greedy trees that restarts begin as."""
        return GREEDY_LEAF_ROWS[: self.n_restarts] if self.greedy_starts else ()

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
        if n_rows < 10 or self._makes_rows:  # too few to part
            return "holdout"
        if self.selection == "auto":
            return "cv" if n_rows <= CROSS_VALIDATED_ROWS else "holdout"
        return self.selection

    def _rows(
        self, data: TrainingData, device, *, seed
    ) -> tuple[FoldedRows, np.ndarray]:
        """Put the table on the device and say which fold holds out which row."""
        self.selection_ = self._selection_for(len(data.y) + len(data.y_valid))
        made_x, made_y = self._made_rows(to_float32(data.X), data.y, seed)
        target = np.concatenate([data.y, made_y, data.y_valid])
        if self.selection_ == "cv":
            fold, n_train = assign_folds(target, N_FOLDS, seed=seed), len(target)
        else:
            n_train = len(data.y) + len(made_y)
            fold = np.repeat([-1, 0], [n_train, len(data.y_valid)])
        weight = self._row_weights(target, n_train)
        x = to_float32(np.concatenate([data.X, made_x, data.X_valid]))
        n_classes = 0 if self.labels() is None else len(self.labels())
        taught = truth = self._scaled_target(target, n_train)
        if self.teacher != "none":
            taught = taught_targets(
                self.teacher,
                data,
                x,
                truth,
                n_classes=n_classes,
                seed=seed,
                device=device,
            )
        rows = FoldedRows(
            x=torch.tensor(x, device=device),
            target=torch.tensor(taught, device=device),
            truth=torch.tensor(truth, device=device),
            weight=torch.tensor(weight, dtype=torch.float32, device=device),
            fold=torch.tensor(fold, device=device),
            n_train=n_train,
            n_classes=n_classes,
        )
        return rows, target

    _makes_rows = False  # whether training rows are made from others

    def _made_rows(self, x, y, seed):
        """Rows that join the training rows: none."""
        return x[:0], y[:0]

    def _teacher_note(self) -> tuple[str, ...]:
        """Say whom the tree imitates."""
        if self.teacher == "none":
            return ()
        name = TEACHERS[self.teacher]
        return (f"Trained to imitate {name}; leaves mix its answers in.",)

    def _batch_settings(self) -> dict:
        """What a batch of trees needs to know."""
        return {
            "soft": self.decision,
            "transform": self.selector,
            **self._loss_settings(),
        }

    def _train(self, batch: TreeBatch, data, generator, callbacks) -> TrainResult:
        """Train all candidates; on return each is at its best, its start included."""
        n_train = batch.rows.n_train
        batch_size = min(self.batch_size, n_train)
        steps = steps_per_epoch(n_train, batch_size)
        max_epochs = min(self.max_epochs, -(-self.max_steps // steps))
        optimizer = torch.optim.Adam(
            [
                {"params": [*batch.logits], "lr": self.learning_rate_index},
                {"params": [*batch.threshold], "lr": self.learning_rate_values},
                {"params": [*batch.leaf_value], "lr": self.learning_rate_leaf},
            ],
            fused=True,
        )
        at_start = batch.state()
        loss_at_start = batch.valid_loss().clone()
        monitor = Monitor(
            max_epochs,
            callbacks,
            snapshot=lambda: self._export(batch, batch.leader(), 0, data),
        )
        result = train(
            batch,
            optimizer,
            TrainingPlan(
                n_rows=n_train,
                batch_size=batch_size,
                max_epochs=max_epochs,
                patience=self.patience,
                evaluate_every=max(1, round(EVALUATED_STEPS / steps)),
                n_averaged=self.averaged_checkpoints,
            ),
            generator=generator,
            monitor=monitor,
            scheduler=cosine_decay(optimizer, max_epochs * steps),
        )
        result.warn_if_diverged()
        self.history_ = monitor.history_frame()
        batch.reset(at_start, loss_at_start <= result.best_loss)
        result.best_loss = torch.minimum(result.best_loss, loss_at_start)
        return result

    def _export(self, batch: TreeBatch, chosen: int, weighting: int, data) -> Tree:
        """Rewrite one candidate in the user's columns and units, its leaves refitted.

        The leaves are refitted, the thresholds centred, and the nodes' numbers taken,
        on every row that the selection did not set aside.
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
        if self._makes_rows:
            made = batch.rows.x[len(encoded) : batch.rows.n_train]
            encoded = torch.cat([encoded, made])
        value = batch.refitted(chosen, encoded, weighting)
        labels = self.labels()
        tree = Tree.complete(
            data.encoder.features_,
            feature,
            raw,
            missing_left,
            self._leaf_values(value),
            classes=labels,
            notes=(
                *batch.notes,
                *self._notes(batch.rows, weighting),
                *self._teacher_note(),
            ),
        )
        told = target if labels is None else self.classes_[target]
        tree = centred(simplify(tree.with_rows(frame, told)))
        return self._merge(tree)
