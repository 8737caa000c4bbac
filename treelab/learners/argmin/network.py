"""Argmin trees as a network: E pruning strengths, one tree each, trained as a batch.

Source: Zantedeschi, Kusner and Niculae, arXiv:2010.04627. Sections and equations are
those of its first version unless noted.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from treelab.learners.argmin.settings import ArgminSettings
from treelab.ops.activity import (
    known_traversal,
    preference_activity_of_splits,
    preference_traversal,
    ridge_activity_of_splits,
    ridge_traversal,
)
from treelab.ops.losses import class_loss, squared_error

REFERENCE_ROWS = 2048  # training rows that decide the activity outside of training
BLOCK = 2**24  # numbers a layer of all trees may hold at once outside of training


@dataclass(frozen=True)
class RowTensors:
    """Rows as tensors.

    Attributes
    ----------
    x : Tensor of shape (F, B)
        Encoded features.
    y : Tensor of shape (B,) or (B, C)
        Classes or values, or several values a row.
    weight : Tensor of shape (B,)
        Mean about 1.
    """

    x: Tensor
    y: Tensor
    weight: Tensor

    @classmethod
    def of(
        cls, x: np.ndarray, y: np.ndarray, weight: np.ndarray, device: torch.device
    ) -> "RowTensors":
        """Copy arrays, ``x`` of shape (B, F), to the device."""
        return cls(
            torch.tensor(x.T.copy(), dtype=torch.float32, device=device),
            torch.tensor(y, device=device),
            torch.tensor(weight, dtype=torch.float32, device=device),
        )

    def take(self, rows: Tensor) -> "RowTensors":
        """Return the rows of these indices."""
        return RowTensors(self.x[:, rows], self.y[rows], self.weight[rows])


class ArgminTrees(nn.Module):
    """One argmin tree for each pruning strength, and the predictor on top of each.

    Parameters
    ----------
    settings : ArgminSettings
        Its pruning strengths are for a batch of ``batch_size`` rows.
    rows, valid_rows : RowTensors
        The training and the validation rows.
    n_outputs : int
        Classes, or 1.
    loss_scale : float or None
        None trains on classes; a number multiplies the squared error.
    generator : torch.Generator
        On the CPU; draws the first parameters.
    splits : (ndarray of shape (N, F), ndarray of shape (N,)) or None
        First weights and biases; None draws weights and spreads the rows evenly.
    """

    pruning_strength: Tensor
    column_mask: Tensor
    node_mask: Tensor

    def __init__(
        self,
        settings: ArgminSettings,
        rows: RowTensors,
        valid_rows: RowTensors,
        n_outputs: int,
        *,
        loss_scale: float | None,
        generator: torch.Generator,
        splits: tuple[np.ndarray, np.ndarray] | None = None,
    ):
        super().__init__()
        self.settings = settings
        self.rows, self.valid_rows = rows, valid_rows
        self.loss_scale = loss_scale
        self.batch_size = min(settings.batch_size, len(rows.y))
        device, n_features = rows.x.device, len(rows.x)
        strengths = torch.tensor(settings.strengths, dtype=torch.float32, device=device)
        self.register_buffer("pruning_strength", strengths)
        self.n_candidates = len(strengths)
        n_splits, self.n_nodes = 2**settings.depth - 1, settings.n_nodes

        def same_for_all(values: Tensor) -> nn.Parameter:
            # All strengths start alike, so that the strength alone makes them differ.
            return nn.Parameter(
                values[None].repeat(self.n_candidates, *[1] * values.dim()).to(device)
            )

        if splits is None:
            weights = _uniform((n_splits, n_features), n_features, generator)
            bias = even_bias(weights, rows.x.cpu(), settings.even_starts)
        else:
            weights, bias = (torch.tensor(array).float() for array in splits)
        self.weights = same_for_all(weights)  # (E, N, F), theta
        self.bias = same_for_all(bias)  # (E, N)
        self.preference: nn.Parameter | None = None
        if settings.formulation == "preference":  # eta ~ U(-1, 1), algorithm 2, line 2
            preference = 2 * torch.rand(self.n_nodes, generator=generator) - 1
            self.preference = same_for_all(preference)  # (E, T)
        n_inputs = self.n_nodes + (n_features if settings.uses_x else 0)
        sizes = (n_inputs, *settings.hidden_sizes, n_outputs)
        self.layers = nn.ParameterList()  # weight (E, out, in), bias (E, out), ...
        for n_in, n_out in pairwise(sizes):
            self.layers.append(same_for_all(_uniform((n_out, n_in), n_in, generator)))
            self.layers.append(same_for_all(torch.zeros(n_out)))
        picked = torch.randperm(rows.x.shape[1], generator=generator)[:REFERENCE_ROWS]
        self.reference = rows.take(picked.to(device))
        self.dropout_generator = spawn(generator, device)
        # 0 for a column that a split does without, and for a node that is no more.
        self.register_buffer("column_mask", torch.ones_like(self.weights))
        self.register_buffer(
            "node_mask", torch.ones(self.n_candidates, self.n_nodes, device=device)
        )

    def scores(self, x: Tensor) -> Tensor:
        """Split scores (E, N, B) of rows ``x`` (F, B); left is where they are >= 0.

        s_theta of section 3, linear or followed by ELU (section 4). The paper's rows
        turn left below 0: its s is ours with the other sign.
        """
        flat = torch.addmm(
            self.bias.reshape(-1, 1), self.sparse_weights().flatten(0, 1), x
        )  # (E * N, B): one product for all trees
        score = flat.view(*self.bias.shape, -1)
        return functional.elu(score) if self.settings.split == "elu" else score

    def sparse_weights(self) -> Tensor:
        """Weights (E, N, F) of the splits, 0 for the columns that they do without."""
        return self.weights * self.column_mask

    def traversal(self, scores: Tensor) -> tuple[Tensor, Tensor]:
        """Traversal z (E, T, B) of B training rows, and the activity a (E, T) of them.

        T_eta(q_1, ..., q_n) of eq. 3, or the program of the final version.
        """
        if self.preference is not None:
            z, activity = preference_traversal(scores, self.preference)
        else:
            z, activity = ridge_traversal(scores, self._penalty(scores.shape[-1]))
        return z * self.node_mask[..., None], activity * self.node_mask

    @torch.no_grad()
    def reference_activity(self) -> Tensor:
        """Activity (E, T) outside of training, from one fixed set of training rows."""
        scores = self.scores(self.reference.x)
        if self.preference is not None:
            activity = preference_activity_of_splits(scores, self.preference)
        else:
            activity = ridge_activity_of_splits(scores, self._penalty(scores.shape[-1]))
        return activity * self.node_mask

    def _penalty(self, n_rows: int) -> Tensor:
        """Penalty lambda (E,) on activity: it grows with the rows that reward it."""
        return self.pruning_strength * (n_rows / self.batch_size)

    def outputs(self, z: Tensor, x: Tensor) -> Tensor:
        """Raw outputs (E, C, B) from traversals (E, T, B) of rows ``x`` (F, B).

        The predictor f_phi(x, z) of eq. 10, linear or an mlp with ELU and dropout.
        """
        if self.settings.trains_constants:
            z = (z > 0).to(z.dtype) + (z - z.detach())  # straight-through
        weight, bias = self.layers[0], self.layers[1]
        out = torch.baddbmm(bias[..., None], weight[..., : self.n_nodes], z)
        if self.settings.uses_x:
            out = out + weight[..., self.n_nodes :] @ x
        for i in range(2, len(self.layers), 2):
            out = self._dropout(functional.elu(out))
            out = torch.baddbmm(self.layers[i + 1][..., None], self.layers[i], out)
        return out

    def _dropout(self, hidden: Tensor) -> Tensor:
        """Hidden units, in training a fraction of them set to 0, the rest scaled up."""
        fraction = self.settings.dropout
        if not self.training or fraction == 0:
            return hidden
        drawn = torch.rand(
            hidden.shape, generator=self.dropout_generator, device=hidden.device
        )
        return hidden * ((drawn >= fraction) / (1 - fraction))

    def batch_loss(self, rows: Tensor) -> Tensor:
        """Training loss (E,) on the training rows of these indices, eq. 10."""
        batch = self.training_batch(rows)
        z, _ = self.traversal(self.scores(batch.x))
        loss = self._row_loss(self.outputs(z, batch.x), batch)
        loss = (loss * batch.weight).mean(1)
        if self.preference is not None:  # lambda ||eta||_inf
            loss = loss + self.pruning_strength * self.preference.abs().amax(1)
        return loss

    @torch.no_grad()
    def valid_loss(self) -> Tensor:
        """Validation loss (E,), without the penalty on preferences."""
        loss, weight = self.valid_row_losses()
        return (loss * weight).sum(1) / weight.sum()

    @torch.no_grad()
    def valid_row_losses(self) -> tuple[Tensor, Tensor]:
        """Loss (E, n) of each validation row, and the row's weight (n,)."""
        self.eval()
        losses, weights = [], []
        for rows, output in self.valid_outputs():
            losses.append(self._row_loss(output, rows))
            weights.append(rows.weight)
        self.train()
        return torch.cat(losses, 1), torch.cat(weights)

    @torch.no_grad()
    def valid_outputs(self) -> Iterator[tuple[RowTensors, Tensor]]:
        """Yield validation rows and their raw outputs (E, C, B)."""
        activity = self.reference_activity()
        for rows in self.validation_batches():
            z = known_traversal(self.scores(rows.x), activity)
            yield rows, self.outputs(z, rows.x)

    def training_batch(self, rows: Tensor) -> RowTensors:
        """Return the training rows of these indices."""
        return self.rows.take(rows)

    def validation_batches(self) -> Iterator[RowTensors]:
        """Yield the validation rows, no more at once than fit into memory."""
        size = max(1, BLOCK // (self.n_candidates * self.n_nodes))
        every = torch.arange(len(self.valid_rows.y), device=self.bias.device)
        for rows in every.split(size):
            yield self.valid_rows.take(rows)

    def _row_loss(self, output: Tensor, rows: RowTensors) -> Tensor:
        """Loss (E, B): nats, or the scaled squared error."""
        if self.loss_scale is None:
            return class_loss(output, rows.y)
        if rows.y.dim() == 2:  # several targets: their mean
            return self.loss_scale * (output - rows.y.t()).square().mean(1)
        return self.loss_scale * squared_error(output, rows.y)


class ColumnMaskingTrees(ArgminTrees):
    """Argmin trees that predict each column from the others.

    A row's target column is masked: a random one in each training batch, each in turn
    in validation. 0 is the mean of a z-score, so a mask is a factor 0.

    Parameters
    ----------
    settings, rows, valid_rows, n_outputs, generator, **options
        See ``ArgminTrees``.
    columns : ndarray of shape (J, F)
        Which features belong to each of J columns.
    """

    def __init__(
        self,
        settings: ArgminSettings,
        rows: RowTensors,
        valid_rows: RowTensors,
        n_outputs: int,
        *,
        columns: np.ndarray,
        generator: torch.Generator,
        **options,
    ):
        # Drawn first, so that the masks do not depend on what else is drawn.
        mask_generator = spawn(generator, rows.x.device)
        super().__init__(
            settings, rows, valid_rows, n_outputs, generator=generator, **options
        )
        self.mask_generator = mask_generator
        self.columns = torch.tensor(columns).to(rows.x)

    def training_batch(self, rows: Tensor) -> RowTensors:
        """Return the training rows of these indices, each without a random column."""
        column = torch.randint(
            len(self.columns),
            rows.shape,
            generator=self.mask_generator,
            device=rows.device,
        )
        return self._mask(super().training_batch(rows), column)

    def validation_batches(self) -> Iterator[RowTensors]:
        """Yield the validation rows without each of the columns in turn."""
        for column in range(len(self.columns)):
            for rows in super().validation_batches():
                every = torch.full(rows.y.shape[:1], column, device=rows.y.device)
                yield self._mask(rows, every)

    def _mask(self, rows: RowTensors, column: Tensor) -> RowTensors:
        """Rows without one column of each, (B,)."""
        return replace(rows, x=rows.x * (1 - self.columns[column]).t())


def even_bias(weights: Tensor, x: Tensor, by: str = "median") -> Tensor:
    """Bias (N,) with which each split sends about half of its rows to either side.

    Of the rows (F, B) that reach the split, by their "median" score or, as in appendix
    A.3, by their "mean". Without rows on both sides a split has nothing to learn from;
    the published code starts so and never trains the bias.
    """
    score = weights @ x  # (N, B)
    bias = torch.zeros(len(weights))
    node = torch.zeros(x.shape[1], dtype=torch.long)
    for t in range(len(weights)):
        here = node == t
        if here.any() and by == "mean":
            bias[t] = -score[t, here].mean()
        elif here.any():
            low, high = score[t, here].quantile(torch.tensor([0.45, 0.55]))
            bias[t] = -(low + high) / 2
        left = score[t] + bias[t] >= 0
        node = torch.where(here, torch.where(left, 2 * t + 1, 2 * t + 2), node)
    return bias


def spawn(generator: torch.Generator, device: torch.device) -> torch.Generator:
    """Return a generator on a device, seeded by a draw from another."""
    seed = int(torch.randint(2**31, (), generator=generator))
    return torch.Generator(device).manual_seed(seed)


def _uniform(shape: tuple, n_in: int, generator: torch.Generator) -> Tensor:
    """First weights: uniform, as wide as torch's own linear layers."""
    return (2 * torch.rand(shape, generator=generator) - 1) / math.sqrt(n_in)
