"""GRANDE's network: many hard trees, each weighted by the leaf that a row reaches.

In the symbols of Marton et al., arXiv:2309.17130: I (selectors), T (thresholds),
L (leaf outputs) and W (leaf weights) are one tensor each, for all trees (section 3.1).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from treelab.data.encoding import to_float32
from treelab.learners.common.base import TrainingData
from treelab.learners.common.objective import Objective
from treelab.learners.grande.settings import GrandeSettings
from treelab.learners.grande.weighting import entropy, weighted_prediction
from treelab.ops.axis_trees import axis_trees

VALID_ROWS = 2_048  # rows that are validated at once, to bound memory


@dataclass(frozen=True)
class Rows:
    """Encoded rows to train and validate on; sub-ensemble g holds out fold g."""

    x: Tensor  # (n, F): encoded features, float32
    target: Tensor  # (n,): class codes (long), or standardised values (float32)
    weight: Tensor  # (n,): the row's own, mean 1 over training rows, times its class's
    # (n,): the fold that holds the row out; -1 where every sub-ensemble trains on it.
    fold: Tensor
    n_train: int  # rows that some sub-ensemble trains on; they come first
    # (n,): the row's own alone; None: all count alike.
    own_weight: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        data: TrainingData,
        fold: np.ndarray | None,
        objective: Objective,
        device: torch.device,
    ) -> "Rows":
        """Put rows on the device, validation rows as those that all trees hold out.

        ``fold`` (n_train,) is that of each training row; None: all are trained on.
        """
        held_out = np.zeros(len(data.y_valid), dtype=np.int64)
        fold = np.append(np.full(len(data.y), -1) if fold is None else fold, held_out)
        y = np.concatenate([data.y, data.y_valid])
        own = np.concatenate([data.row_weight, data.row_weight_valid])
        weight = own * objective.row_weights(y)
        x = to_float32(np.concatenate([data.X, data.X_valid]))
        return cls(
            torch.tensor(x, device=device),
            torch.tensor(objective.encode(y), device=device),
            torch.tensor(weight, dtype=torch.float32, device=device),
            torch.tensor(fold, device=device),
            len(data.y),
            own if np.ptp(own) else None,
        )

    @property
    def n_folds(self) -> int:
        """Folds and sub-ensembles, G."""
        return max(1, int(self.fold.max()) + 1)

    @property
    def held_out(self) -> list[Tensor]:
        """Numbers of the rows (m,) that each sub-ensemble holds out."""
        return [(self.fold == g).nonzero()[:, 0] for g in range(self.n_folds)]


class WeightedTreesNetwork(nn.Module):
    """Sub-ensembles of trees; `weighted_prediction` mixes the trees of each.

    Each sub-ensemble is one candidate for the training loop: it never trains on the
    rows of its own fold, and is validated on them.

    The parameters, of G sub-ensembles of E trees each, are I and T (G, E, N, K) of the
    paper, of the K features that a tree may use, L (G, E, L, C) and W (G, E, L or 1,
    1). They are given as they are before the first step, of all ``G * E`` trees, one
    sub-ensemble after another; so are ``columns`` (G * E, K), the features that each
    tree may use, None: all, in order. The generator draws the trees' training rows
    and the dropout.
    """

    def __init__(
        self,
        rows: Rows,
        objective: Objective,
        settings: GrandeSettings,
        generator: torch.Generator,
        *,
        parameters: Sequence[Tensor],
        columns: Tensor | None,
    ):
        super().__init__()
        self.rows, self.objective, self.settings = rows, objective, settings
        self.generator, self.n_candidates = generator, rows.n_folds
        device, n_folds = rows.x.device, rows.n_folds

        def by_fold(of_trees: Tensor) -> Tensor:
            return of_trees.unflatten(0, (n_folds, -1)).contiguous()

        self.logits, self.threshold, self.leaf_value, self.leaf_weight = (
            nn.Parameter(by_fold(own)) for own in parameters
        )
        # How far trees have come from all deciding, 0, to as few as shall, 1; no
        # gradient, but checkpoints save it. Ours, as is what follows from it.
        self.progress = nn.Parameter(
            torch.zeros(n_folds, 1, 1, 1, device=device), requires_grad=False
        )
        self.max_deciders: int | None = None  # that may decide a row, for now
        self.columns = None if columns is None else by_fold(columns)
        fold = torch.arange(n_folds, device=device)[:, None]
        self.train_weight = rows.weight * (rows.fold != fold)  # (G, n)
        self.held_out = rows.held_out
        self.sees = None  # the training rows of each tree, (G, E, n_train)
        if settings.data_fraction < 1:
            self.sees = self._draw_rows(settings.data_fraction)

    @property
    def is_captured(self) -> bool:
        """Whether a GPU may replay steps: how many trees may decide falls no more."""
        last = self.settings.max_deciders
        return last is None or self.max_deciders == min(last, self.logits.shape[1])

    def limit_deciders(self) -> None:
        """Set how many trees may decide a row after the progress so far."""
        most, progress = self.settings.max_deciders, float(self.progress.flatten()[0])
        self.max_deciders = None
        if isinstance(most, int) and progress > 0:
            n_trees = self.logits.shape[1]
            self.max_deciders = round(n_trees * min(most / n_trees, 1.0) ** progress)

    def leaves(self, folds: slice = slice(None)) -> Tensor:
        """Raw outputs and, last, the weight of each leaf, (G * E, L, C + 1)."""
        value = self.objective.leaf_outputs(self.leaf_value[folds])
        # Multiplies the leaf weights, from 1 growing by the same factor each step.
        concentration = self.settings.concentration ** self.progress[folds]
        weight = concentration * self.leaf_weight[folds]
        weight = weight.expand(-1, -1, value.shape[2], -1)
        return torch.cat([value, weight], -1).flatten(0, 1)

    def forward(self, x: Tensor, folds: slice = slice(None)) -> Tensor:
        """Raw outputs (G, C, B) of some sub-ensembles on rows (B, F)."""
        return self.predict(x, folds)[0]

    def predict(
        self, x: Tensor, folds: slice = slice(None), active: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Raw outputs (G, C, B) of some sub-ensembles, and estimator weights (G, E, B).

        Equations 2 to 4: g of every tree, the indicator of the leaf that a row of (B,
        F) reaches, and hard splits, whose gradient is that of softsign (equation 6).
        The indicator that picks a leaf's output picks its weight, the sum over W in
        equation 7, ``G(x) = sigma(w(x)) . p(x)``; with one weight a tree (equation 5),
        w is the same for all rows. Trees that are not active, False in (G, E, 1) or
        (G, E, B), are left out.
        """
        logits = self.logits[folds]
        reached = axis_trees(
            x,
            logits.flatten(0, 1),
            self.threshold[folds].flatten(0, 1),
            self.leaves(folds),
            columns=None if self.columns is None else self.columns[folds].flatten(0, 1),
            soft=self.settings.decision,
            transform=self.settings.selector,
        ).unflatten(0, logits.shape[:2])  # (G, E, C + 1, B)
        return weighted_prediction(
            reached[:, :, :-1],
            reached[:, :, -1],
            active,
            weighting=self.settings.weighting,
            max_deciders=self.max_deciders,
        )

    def batch_loss(self, rows: Tensor) -> Tensor:
        """Mean training loss (G,) on these rows, each own fold left out.

        The entropy of the estimator weights is penalised: few trees shall decide.
        """
        active = None if self.sees is None else self.sees[:, :, rows]
        if self.settings.dropout > 0:
            active = self._drop_trees(active)
        output, weights = self.predict(self.rows.x[rows], active=active)
        loss = self.objective.loss(output, self.rows.target[rows])  # (G, B)
        if self.settings.entropy_penalty > 0:
            loss = loss + self.settings.entropy_penalty * entropy(weights)
        weight = self.train_weight[:, rows]
        return (loss * weight).sum(1) / weight.sum(1).clamp(min=1e-12)

    @torch.no_grad()
    def valid_loss(self) -> Tensor:
        """Mean loss on held-out rows, each fold's its own sub-ensemble's; (G,).

        Sub-ensembles share the mean over the folds: how long to train is one choice.
        """
        self.limit_deciders()
        means = []
        for output, rows in zip(self.valid_outputs(), self.held_out):
            weight = self.rows.weight[rows]
            loss = self.objective.loss(output, self.rows.target[rows])
            means.append((loss * weight).sum() / weight.sum())
        return torch.stack(means).mean().repeat(self.n_candidates)

    @torch.no_grad()
    def valid_outputs(self) -> list[Tensor]:
        """Raw outputs (C, m) of each sub-ensemble on the m rows that it holds out."""
        found = []
        for g, rows in enumerate(self.held_out):
            blocks = self.rows.x[rows].split(VALID_ROWS)
            found.append(torch.cat([self(x, slice(g, g + 1))[0] for x in blocks], 1))
        return found

    def _uniform(self, n_rows: int) -> Tensor:
        """Draw a number from 0 to 1 for each tree and row, (G, E, n_rows)."""
        shape = (*self.logits.shape[:2], n_rows)
        return torch.rand(shape, generator=self.generator, device=self.logits.device)

    def _draw_rows(self, fraction: float) -> Tensor:
        """Draw which training rows each tree sees, (G, E, n_train).

        Section 3.4 of arXiv:2309.17130, data subset.
        """
        sees = self._uniform(self.rows.n_train) < fraction
        # A row that no tree of a sub-ensemble would see: all do.
        return sees | ~sees.any(1, keepdim=True)

    def _drop_trees(self, active: Tensor | None) -> Tensor:
        """Leave out a fraction of the trees, but never all of a sub-ensemble.

        Section 3.4 of arXiv:2309.17130, dropout.
        """
        stays = self._uniform(1) >= self.settings.dropout
        possible = torch.ones_like(stays) if active is None else active
        remaining = possible & stays
        return torch.where(remaining.any(1, keepdim=True), remaining, possible)
