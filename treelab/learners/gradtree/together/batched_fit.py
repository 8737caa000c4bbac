"""What several estimators do at once: fit, or cross-validate, as one batch of trees."""

import math
from collections.abc import Hashable, Sequence

import torch
from sklearn.utils import check_random_state

from treelab.learners.common.device import resolve_device
from treelab.learners.common.grown_tree import GrownTree
from treelab.learners.common.memo import Memo
from treelab.learners.common.spec import read_settings
from treelab.learners.gradtree.annealing import epochs_of
from treelab.learners.gradtree.cross_validation import (
    cross_validate,
    preparation_monitor,
)
from treelab.learners.gradtree.settings import GradTreeSettings
from treelab.learners.gradtree.table import Table
from treelab.learners.gradtree.together.fits import Fit, run_together
from treelab.training.events import Callback
from treelab.trees.constraints.constraints import Constraints

SCORING = "scoring"  # a cross-validation alone, whose losses are not measured


class BatchedFit(GradTreeSettings, GrownTree):
    """GradTree's fits side by side: folds, starts and steps are shared."""

    @classmethod
    def fit_batch(
        cls,
        estimators: Sequence["BatchedFit"],
        X,
        y,
        *,
        callbacks: Sequence[Callback] = (),
        memo: Memo | None = None,
    ) -> None:
        """Fit estimators of several settings to the same rows, as one batch of trees.

        Each becomes what ``fit`` alone makes of it, but for rounding. Those of one
        ``batch_key`` train side by side, the others one after the other.

        Parameters
        ----------
        estimators : sequence of GradTreeClassifier or GradTreeRegressor
        X, y, callbacks
            As in ``fit``; a callback hears of every estimator.
        memo : Memo, optional
            What was prepared for earlier fits to the same rows.
        """
        shared = memo or Memo()
        run_together(
            [each._fitting(X, y, None, None, callbacks, shared) for each in estimators]
        )

    @classmethod
    def cross_validated_batch(
        cls,
        estimators: Sequence["BatchedFit"],
        X,
        y,
        *,
        callbacks: Sequence[Callback] = (),
        memo: Memo | None = None,
    ) -> list[tuple[float, int]]:
        """Return what ``cross_validated`` does, of each; see ``fit_batch``."""
        shared = memo or Memo()
        return run_together(
            [each._scoring(X, y, callbacks, shared) for each in estimators]
        )

    def batch_key(self, n_rows: int) -> Hashable:
        """Name what estimators share that train as one batch; None for none.

        Learning rates, losses, class weights and numbers of leaves may differ.
        """
        settings = read_settings(self)
        if settings.recipe == "paper":
            return None
        constraints = repr(Constraints.read(settings.constraints))
        key = settings.steps(n_rows), settings.batch_size, constraints
        return *key, self.random_state, self.device

    def cross_validated(
        self, X, y, *, callbacks: Sequence[Callback] = ()
    ) -> tuple[float, int]:
        """Return the score by which ``fit`` would choose, without training on all rows.

        Parameters
        ----------
        X, y, callbacks
            As in ``fit``.

        Returns
        -------
        score : float
            Macro F1 or R² of the tree that ``fit`` would retain, from the rows held
            out; NaN in the paper's recipe, or where there are too few rows.
        n_leaves : int
            Of that tree, at most.
        """
        return self.cross_validated_batch([self], X, y, callbacks=callbacks)[0]

    def _scoring(self, X, y, callbacks, memo: Memo) -> Fit[tuple[float, int]]:
        """Cross-validate, and yield what is to be trained."""
        settings = read_settings(self)
        if settings.recipe == "paper":
            return math.nan, 0
        random = check_random_state(self.random_state)
        data = self._read(X, y, None, None, numbers="none")
        table = self._table(data.frame, data.y, settings)
        device = resolve_device(self.device)
        generator = torch.Generator(device).manual_seed(random.randint(2**31))
        epochs = epochs_of(settings, len(table.frame))
        choice = yield from cross_validate(
            table,
            settings,
            preparation_monitor(epochs, callbacks, SCORING),
            generator,
            random,
            memo,
        )
        return float(choice.scores[choice.chosen]), int(choice.sizes[choice.chosen])

    def _fitting(self, X, y, X_valid, y_valid, callbacks, memo: Memo) -> Fit[None]:
        """Fit, and yield what is to be trained."""
        raise NotImplementedError

    def _table(self, frame, y, settings: GradTreeSettings) -> Table:
        """Bind the rows with what is learned from them."""
        raise NotImplementedError
