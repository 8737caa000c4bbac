"""Argmin trees, and the predictor on top of each, as a network.

Source: Zantedeschi, Kusner and Niculae, arXiv:2010.04627. Sections and equations are
those of its first version unless noted. Shapes: E trees (restarts), T nodes, N splits,
F features, B rows, C outputs.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from treelab.learners.argmin.settings import ArgminSettings
from treelab.learners.argmin.starts import uniform
from treelab.ops.activity import (
    MARGIN,
    Program,
    activity_of_splits,
    known_traversal,
    path_scores,
    preference_program,
    ridge_program,
    traversal,
)
from treelab.ops.losses import class_loss, squared_error

REFERENCE_ROWS = 2048  # training rows that decide the activity outside of training
BLOCK = 2**24  # numbers a layer may hold at once outside of training


@dataclass(frozen=True)
class RowTensors:
    """Rows as tensors."""

    x: Tensor  # (F, B): encoded features
    y: Tensor  # (B,): classes or values, or several values a row
    weight: Tensor  # (B,): mean about 1

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
    """Trees whose activities minimise a cost at the current pruning strength.

    Targets of integers are classes, others values, ``n_outputs`` a row. ``splits`` are
    first weights (E, N, F) and biases (E, N); the generator, on the CPU, draws the
    other first parameters. ``pruning_strength`` is the lambda of now, for a batch of
    ``batch_size`` rows.
    """

    column_mask: Tensor  # (E, N, F): 0 for a column that a split does without
    # (E, N): NaN at a split that tests rows. Its score where it tests no more: 1 and -1
    # send all rows left and right, at 0 they stop.
    fixed: Tensor

    def __init__(
        self,
        settings: ArgminSettings,
        rows: RowTensors,
        valid_rows: RowTensors,
        n_outputs: int,
        *,
        splits: tuple[Tensor, Tensor],
        generator: torch.Generator,
    ):
        super().__init__()
        self.settings = settings
        self.rows, self.valid_rows = rows, valid_rows
        self.pruning_strength = float(settings.strengths[0])
        device, n_features, n_nodes = rows.x.device, len(rows.x), settings.n_nodes
        weights, bias = (first.float().to(device) for first in splits)
        self.n_candidates = len(bias)
        self.weights, self.bias = nn.Parameter(weights), nn.Parameter(bias)  # theta
        self.preference: nn.Parameter | None = None
        if settings.formulation == "preference":  # eta ~ U(-1, 1), algorithm 2, line 2
            eta = 2 * torch.rand(self.n_candidates, n_nodes, generator=generator) - 1
            self.preference = nn.Parameter(eta.to(device))
        n_inputs = n_nodes + (n_features if settings.uses_x else 0)
        self.layers = nn.ParameterList()  # weight (E, out, in), bias (E, out, 1), ...
        for n_in, n_out in pairwise((n_inputs, *settings.hidden_sizes, n_outputs)):
            weight = uniform((self.n_candidates, n_out, n_in), generator)
            bias = torch.zeros(self.n_candidates, n_out, 1)
            self.layers.extend([weight.to(device), bias.to(device)])
        picked = torch.randperm(rows.x.shape[1], generator=generator)[:REFERENCE_ROWS]
        self.reference = rows.take(picked.to(device))
        self.dropout_generator = spawn(generator, device)
        self.register_buffer("column_mask", torch.ones_like(self.weights.data))
        self.register_buffer("fixed", torch.full_like(self.bias.data, math.nan))

    def scores(self, x: Tensor) -> Tensor:
        """Split scores (E, N, B) of rows ``x`` (F, B); left is where they are >= 0.

        s_theta of section 3, linear or followed by ELU (section 4). The paper's rows
        turn left below 0: its s is ours with the other sign.
        """
        flat = torch.addmm(
            self.bias.reshape(-1, 1), self.sparse_weights().flatten(0, 1), x
        )  # (E * N, B): one product for all trees
        score = flat.view(*self.bias.shape, -1)
        if self.settings.split == "elu":
            score = functional.elu(score)
        fixed = self.fixed[..., None]
        return torch.where(fixed.isnan(), score, fixed)

    def sparse_weights(self) -> Tensor:
        """Weights (E, N, F) of the splits, 0 for the columns that they do without."""
        return self.weights * self.column_mask

    @torch.no_grad()
    def activity(self) -> Tensor:
        """Activity a (E, T) outside of training, by one fixed set of training rows."""
        scores = self.scores(self.reference.x)
        return activity_of_splits(scores, self._program(scores))

    def _program(self, scores: Tensor) -> Program:
        """What the activity minimises: T_eta of eq. 3, or that of the final version.

        There the penalty on activity, lambda, grows with the rows that reward it.
        """
        if self.preference is not None:
            return preference_program(self.preference)
        per_row = self.pruning_strength / self.settings.batch_size
        penalty = scores.new_full((len(scores),), per_row * scores.shape[2])
        return ridge_program(scores, penalty)

    def outputs(self, z: Tensor, x: Tensor) -> Tensor:
        """Raw outputs (E, C, B) from traversals (E, T, B) of rows ``x`` (F, B).

        The predictor f_phi(x, z) of eq. 10, linear or an mlp with ELU and dropout.
        """
        if self.settings.trains_constants:
            z = (z > 0).to(z.dtype) + (z - z.detach())  # straight-through
        passes = functional.pad(self.fixed.abs() == 1, (0, self.fixed.shape[1] + 1))
        z = z.masked_fill(passes[..., None], 0.0)  # the child is read in its place
        if self.settings.uses_x:
            z = torch.cat([z, x.expand(len(z), *x.shape)], 1)
        out = z
        for i in range(0, len(self.layers), 2):
            out = self._dropout(functional.elu(out)) if i > 0 else out
            out = torch.baddbmm(self.layers[i + 1], self.layers[i], out)
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
        scores = self.scores(batch.x)
        z = traversal(scores, self._program(scores))[0]
        loss = (_row_loss(self.outputs(z, batch.x), batch.y) * batch.weight).mean(1)
        if self.preference is not None:  # lambda ||eta||_inf
            loss = loss + self.pruning_strength * self.preference.abs().amax(1)
        return loss

    def valid_loss(self) -> Tensor:
        """Validation loss (E,), without the penalty on preferences."""
        return self.valid_losses().mean(1)

    @torch.no_grad()
    def valid_losses(self) -> Tensor:
        """Loss (E, n) of each validation row, the row's weight in it."""
        self.eval()
        activity, losses, weights = self.activity(), [], []
        for rows in self.validation_batches():
            z = known_traversal(self.scores(rows.x), activity)
            losses.append(_row_loss(self.outputs(z, rows.x), rows.y) * rows.weight)
            weights.append(rows.weight)
        self.train()
        return torch.cat(losses, 1) / torch.cat(weights).mean()

    def training_batch(self, rows: Tensor) -> RowTensors:
        """Return the training rows of these indices."""
        return self.rows.take(rows)

    def validation_batches(self) -> Iterator[RowTensors]:
        """Yield the validation rows, no more at once than fit into memory."""
        every = torch.arange(len(self.valid_rows.y), device=self.bias.device)
        for rows in every.split(self._rows_at_once):
            yield self.valid_rows.take(rows)

    @property
    def _rows_at_once(self) -> int:
        """Rows whose traversals fit into memory."""
        return max(1, BLOCK // (self.n_candidates * self.settings.n_nodes))

    @torch.no_grad()
    def live_nodes(self) -> np.ndarray:
        """Nodes (E, T), bool, that a training row passes and that the program retains.

        The program relaxes a in {0, 1} of eq. 2. A node's activity is rounded down
        where it is no higher than what a row at the node's border, q = 0, adds to it:
        under the ridge where lambda / 2 is at least the sum of its rows' path scores.
        """
        border = 0.0 if self.preference is not None else MARGIN
        live = (self.rows_at() > 0) & (self.activity() > border).cpu().numpy()
        live[:, 0] = True
        return live

    @torch.no_grad()
    def rows_at(self) -> np.ndarray:
        """Training rows (E, T) that pass each node."""
        passed = [
            (path_scores(self.scores(x)) > 0).sum(2)
            for x in self.rows.x.split(self._rows_at_once, 1)
        ]
        return torch.stack(passed).sum(0).cpu().numpy()

    @torch.no_grad()
    def empty_nodes(self, live: np.ndarray) -> None:
        """Empty all nodes but these (E, T); a split's only child takes its place.

        A split without children is a leaf. What is emptied stays so.
        """
        children = torch.tensor(live[:, 1:]).to(self.fixed).unflatten(1, (-1, 2))
        left, right = children.unbind(2)  # (E, N)
        self.fixed.copy_(torch.where(left * right > 0, math.nan, left - right))
        read = self.layers[0].data  # what it read of a node, it reads of its child
        for e, t in torch.nonzero(self.fixed.abs() == 1).tolist():  # parents first
            child = 2 * t + (1 if self.fixed[e, t] > 0 else 2)
            read[e, :, child] += read[e, :, t]
            read[e, :, t] = 0


def spawn(generator: torch.Generator, device: torch.device) -> torch.Generator:
    """Return a generator on a device, seeded by a draw from another."""
    seed = int(torch.randint(2**31, (), generator=generator))
    return torch.Generator(device).manual_seed(seed)


def _row_loss(output: Tensor, y: Tensor) -> Tensor:
    """Loss (E, B) of outputs (E, C, B): nats for classes, else the squared error."""
    if not y.is_floating_point():
        return class_loss(output, y)
    if y.dim() == 2:  # several targets: their mean
        return (output - y.t()).square().mean(1)
    return squared_error(output, y)
