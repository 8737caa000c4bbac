"""GET and GET-Linear: one tree with oblique splits, all trained together."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from sklearn.utils import column_or_1d
from threadpoolctl import threadpool_limits

from treelab.learners.common.base import (
    TableClassifier,
    TableEstimator,
    TableRegressor,
    TrainingData,
    best_weight_power,
)
from treelab.learners.common.origin import (
    Origin,
    changed_splits,
    feature_spread,
    with_origin,
)
from treelab.learners.common.settings import (
    IntervalSettings,
    RegressionLossSettings,
    constraints_of,
    estimator,
)
from treelab.learners.common.target import loss_note
from treelab.learners.get.fit import (
    STEPS,
    Scores,
    Search,
    choose_sizes,
    initial_trees,
    scores_of,
    train_stages,
    tuned_depth,
)
from treelab.learners.get.settings import SPEC, GetSettings, auto_depth
from treelab.learners.get.trees import HardTrees, Rows, to_tree
from treelab.training.device import resolve_device
from treelab.training.events import Monitor
from treelab.trees.constraints import cost_matrix, votes, with_note
from treelab.trees.feature import feature_matrix
from treelab.trees.pruning import SizePath, path_of_sizes
from treelab.trees.tree import Tree

CPU = torch.device("cpu")
MIN_PROBABILITY = 1e-6  # of a class, before the logarithm


class GetEstimator(GetSettings, TableEstimator):
    """From a table to a tree, its path and its origin; a subclass knows the target.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree, in the columns and units of ``X``.
    path_ : SizePath
        The best tree at each number of leaves, scored on the validation rows.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Impurity that the splits on each column of ``X`` remove, as a fraction of all.
    origin_ : Origin
        What the tree began as, and what training changed.
    history_ : DataFrame
        epoch, train_loss (soft trees), valid_loss (hard trees), seconds, stage; losses
        are squared errors of the fractions of classes, or fractions of the target's
        variance; of another loss those of the target in its standard deviations, or
        near its mean where the loss is of positive values.
    """

    path_: SizePath

    # Matrices are small: BLAS threads that wait for the next only hold the cores.
    _threads = staticmethod(partial(threadpool_limits, limits=1, user_api="blas"))

    def _encoding(self, settings):
        """Numbers from 0 to 1, as in the paper."""
        return {"numbers": "minmax"}

    def _learn(self, data, settings, callbacks):
        """Start, train, grow and polish, choose a size, and compute its leaves."""
        self._set_target(data, settings)
        monitor = Monitor(1, callbacks, stage="starts", is_preparation=True)
        search = self._search(data, settings, monitor)
        depth = min(search.depth, settings.trained_depth)
        starts, kinds = initial_trees(search, search.rows, depth)
        trained, _, best = train_stages(search, starts, search.rows, search.valid)
        tree, later = trained, []
        for name, step in STEPS.items():
            tree, before = step(search, tree), tree
            later += [name] * (tree is not before)
        valid = self._rows(data.X_valid, data.y_valid, data.row_weight_valid)
        scored = valid, settings, data.weight_valid, self._cost_of()
        sizes, scores, chosen, rule = choose_sizes(tree, search.rows, *scored)
        shift = self._choose_class_weights(sizes[chosen], data)
        if shift is not None and settings.tunes == "leaves":
            scores = scores_of(sizes, valid, data.weight_valid, shift)
        found = sizes, scores, chosen, rule
        self._retain(
            found, (starts.take(best), trained), kinds[best], later, search, data
        )
        self.history_ = search.monitor.history_frame()

    @property
    def tree_(self) -> Tree:
        """The fitted tree, in the columns and units of ``X``."""
        return self.model_

    def _search(
        self, data: TrainingData, settings: GetSettings, monitor: Monitor
    ) -> Search:
        """Rows, depth and seed of a fit; a tuned depth is found here."""
        device, is_auto = resolve_device(self.device), settings.max_depth == "auto"
        search = Search(
            self._rows(data.X, data.y, data.row_weight, device).rounded(),
            self._rows(
                data.X_valid, data.y_valid, data.row_weight_valid, device
            ).rounded(),
            settings,
            auto_depth(len(data.y)) if is_auto else int(settings.max_depth),
            np.random.default_rng(self._draw_seed()),
            monitor,
            partial(self._export, data=data),
        )
        if settings.tunes == "depth":  # then nothing is held out (appendix F.1)
            if is_auto:
                search.depth = tuned_depth(search)
            search.rows = search.valid = search.rows.join(search.valid)
        return search

    def _retain(
        self,
        found: tuple[list[HardTrees], Scores, int, str],
        training: tuple[HardTrees, HardTrees],
        kind: str,
        later: list[str],
        search: Search,
        data: TrainingData,
    ) -> None:
        """Set what the fit leaves: path, tree and origin, leaves from all rows.

        ``training`` are the tree as it began, as a start of this kind, and as it was
        trained, before what came later.
        """
        sizes, scores, chosen, rule = found
        held_out = self._held_out(data, search.settings)
        if data.held_out:
            data = data.joined()
        trees = [self._export(tree, data) for tree in sizes]
        retained = np.isfinite(sizes[chosen].threshold[0])
        began, ended = (
            self._export(tree.cut_to(retained[: tree.n_splits], search.rows), data)
            for tree in training
        )
        spread = feature_spread(feature_matrix(began.features, data.frame))
        n_splits = trees[chosen].n_splits
        self.origin_ = Origin(
            kind,
            trained=search.settings.learning_rate > 0,
            n_splits=n_splits,
            n_changed=min(n_splits, changed_splits(began, ended, spread)),
            later=(*later, *["pruning"] * (chosen < len(sizes) - 1)),
            held_out=held_out,
        )
        trees[chosen] = with_origin(trees[chosen], self.origin_)
        path = path_of_sizes(trees, *scores, chosen, rule=rule)
        self.path_ = self._with_certainty(path, data.rows)
        self.model_ = self.path_.tree

    def _held_out(self, data: TrainingData, settings: GetSettings) -> str:
        """What the tree was selected on, for its origin."""
        rows = data.validation
        if settings.tunes == "leaves" or not rows:
            return rows
        return f"{rows}, for the depth alone" if settings.max_depth == "auto" else ""

    def _export(self, trees: HardTrees, data: TrainingData) -> Tree:
        """Write a batch of one tree for the user, its leaves from the rows.

        Categories were cross-fitted for training; prediction sees their plain rates. A
        linear leaf is fitted as in training: by rates that know its rows' own targets
        it would learn these.
        """
        x, loss = data.encoder.transform(data.frame), self._loss_of_rows
        if self.linear:
            x = np.concatenate([data.X, data.X_valid])[: len(x)]  # joined, or not
        return to_tree(
            trees.refit(self._rows(x, data.y, data.row_weight)),
            data.encoder,
            data.frame,
            self._decode_target(data.y),
            weight=data.weight,
            classes=self.labels(),
            scale=self._target_scale,
            notes=self._notes(),
            loss=None if loss.is_squared else loss,
            outputs=self.outputs_,
        )

    def _set_target(self, data: TrainingData, settings: GetSettings) -> None:
        """Set what training needs to know of the target."""
        raise NotImplementedError

    def _rows(self, x: np.ndarray, y: np.ndarray, weight, device=CPU) -> Rows:
        """Encoded rows of these weights, with their target as trees predict it."""
        raise NotImplementedError

    def _choose_class_weights(
        self, trees: HardTrees, data: TrainingData
    ) -> np.ndarray | None:
        """Choose and return weights (C,) of classes in leaves, if validation may."""

    def _cost_of(self) -> Callable[[np.ndarray, np.ndarray], np.ndarray] | None:
        """What errors cost where sizes are chosen by it; see ``choose_sizes``."""
        return None

    def _notes(self) -> tuple[str, ...]:
        """What predictions are best by, where it is another loss."""
        loss = self._loss_of_rows
        return () if loss.is_squared else (loss_note(loss),)


@estimator
class GetClassifier(GetEstimator, TableClassifier):
    """Classification tree with oblique splits, trained as a whole by gradients.

    Each split tests a weighted sum of features. Splits start soft and become hard in
    stages; several starts train side by side, and the best hard tree on the validation
    rows is taken. Leaves hold the class probabilities of their rows.

    Source: Mao and Cao, arXiv:2411.17003. Classification is ours; ``docs/learners/get``
    lists what else differs.
    """

    def _set_target(self, data, settings):
        """Weight rows by class, alike where validation chooses the weights."""
        self.constraints_ = constraints_of(self, data.frame)
        SPEC.check_constraints(self.constraints_, self._task())
        self._weights = self._training_weights(data)

    def _rows(self, x, y, weight, device=CPU):
        """Rows with class codes, weighted by class, too."""
        weight, n_classes = weight * self._weights[y], len(self.classes_)
        return Rows(x, y, weight, n_classes, device=device)

    def _choose_class_weights(self, trees, data):
        """Choose the power of balanced weights by macro F1 on the validation rows."""
        given, has_costs = self._class_weight, bool(self.constraints_.class_costs)
        if has_costs or not (isinstance(given, str) and given == "auto"):
            return None
        balanced = self._balanced_weights(data.y, data.weight)
        probability = np.maximum(trees.predict(data.X_valid)[0], MIN_PROBABILITY)
        rows = np.log(probability), data.y_valid
        power = best_weight_power(*rows, np.log(balanced), data.weight_valid)
        weights = balanced**power
        self._weights = weights / np.average(weights[data.y], weights=data.weight)
        return self._weights

    def _cost_of(self):
        """Each row's cost where it is predicted as the class of most votes."""
        costs = cost_matrix(self.constraints_, self.labels())
        if costs is None:
            return None
        return lambda predicted, y: costs[y, self._voted(predicted).argmax(-1)]

    def _voted(self, value: np.ndarray) -> np.ndarray:
        """Votes by costs (..., C), of fractions by the weights of training."""
        values, own = votes(self.constraints_, self.labels())
        rows = np.zeros_like(own)
        np.divide(own, self._weights, out=rows, where=self._weights > 0)
        voted = value * rows @ values
        return voted / voted.sum(axis=-1, keepdims=True)

    def _export(self, trees, data):
        """Write a tree whose nodes, splits too, hold weighted fractions, or votes."""
        tree = super()._export(trees, data)
        weighted = tree.class_counts * self._weights
        total = weighted.sum(axis=1, keepdims=True)
        inner = ~tree.is_leaf[:, None] & (total > 0)
        value = np.divide(weighted, total, out=tree.value.copy(), where=inner)
        weights = self._weights
        if self.constraints_.class_costs:
            value = self._voted(value)
            weights = votes(self.constraints_, self.labels())[1]
        tree = replace(tree, value=value, class_weights=weights)
        return with_note(tree, self.constraints_)

    def _notes(self):
        """What a row of each class weighs; costs have a note of their own."""
        has_costs = bool(self.constraints_.class_costs)
        return () if has_costs else self._weights_note(self._weights)


@estimator
class GetRegressor(
    RegressionLossSettings, IntervalSettings, GetEstimator, TableRegressor
):
    """Regression tree with oblique splits, trained as a whole by gradients.

    As ``GetClassifier``; a leaf predicts one value (GET), or by a ridge regression on
    the rows that reach it (GET-Linear). Of another ``loss`` training, leaves and the
    choice of the tree go by it; greedy starts are grown for the squared error.

    Source: Mao and Cao, arXiv:2411.17003; ``docs/learners/get`` lists what differs.
    """

    predicts_several = True

    def __sklearn_tags__(self):
        """Tell scikit-learn that linear leaves predict one target."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = not self.linear
        return tags

    def _name_outputs(self, y):
        """Refuse several where leaves are linear; warn of one that is a column."""
        super()._name_outputs(y)
        if not self.linear:
            return
        if self.outputs_:
            raise ValueError(
                f'leaves="linear" predicts one number, got {len(self.outputs_)}: '
                f'{", ".join(self.outputs_)}. Take leaves="constant".'
            )
        column_or_1d(y, warn=True)

    def _set_target(self, data, settings):
        """Standardise by the training rows, or only scale where 0 has a meaning."""
        self._learn_loss(settings, data)

    def _rows(self, x, y, weight, device=CPU):
        """Rows with scaled values."""
        scaled, is_linear = self._target_scale.standardise(y), self.linear
        return Rows(x, scaled, weight, 0, is_linear, device, self._scaled_loss)
