"""Argmin trees as a network: E pruning strengths, one tree each, trained as a batch."""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

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


@dataclass
class Rows:
    """Rows as tensors.

    ``x`` (F, B); ``y`` classes (B,), values (B,), or several values a row (B, C);
    ``weight`` (B,) with mean about 1.
    """

    x: Tensor
    y: Tensor
    weight: Tensor

    def take(self, rows: Tensor) -> "Rows":
        """The rows of these indices."""
        return Rows(self.x[:, rows], self.y[rows], self.weight[rows])


class ArgminTrees(nn.Module):
    """One argmin tree for each pruning strength, and the predictor on top of each.

    Parameters
    ----------
    strength : Tensor of shape (E,)
        Pruning strength lambda, for a batch of ``batch_size`` rows.
    depth : int
        Levels of splits.
    rows, valid_rows : Rows
        The training and the validation rows.
    n_outputs : int
        Classes, or 1.
    loss_scale : float or None
        None trains on classes; a number multiplies the squared error.
    batch_size : int
        Rows of a full batch, no more than there are.
    formulation : {"ridge", "preference"}
    hidden : tuple of int
        Sizes of the predictor's hidden layers.
    reads_leaf : bool
        The predictor reads which nodes a row passes, not how far: a constant a leaf.
    uses_x : bool
        The predictor reads the row itself beside the traversal.
    dropout : float
        Share of hidden units that each step leaves out.
    split : {"linear", "elu"}
        Whether ELU bends the split scores; it leaves their signs.
    generator : torch.Generator
        On the CPU; draws the first parameters.
    splits : (ndarray of shape (N, F), ndarray of shape (N,)) or None
        First weights and biases; None draws weights and spreads the rows evenly.
    columns : ndarray of shape (J, F) or None
        Which features belong to each of J columns. If given, a row hides one column,
        drawn anew in every batch; validation rows hide each in turn.
    """

    def __init__(
        self,
        strength: Tensor,
        depth: int,
        rows: Rows,
        valid_rows: Rows,
        n_outputs: int,
        *,
        loss_scale: float | None,
        batch_size: int,
        formulation: str,
        hidden: tuple[int, ...],
        reads_leaf: bool,
        uses_x: bool,
        dropout: float,
        split: str,
        generator: torch.Generator,
        splits: tuple[np.ndarray, np.ndarray] | None = None,
        columns: np.ndarray | None = None,
    ):
        super().__init__()
        self.columns = None
        if columns is not None:
            self.columns = torch.tensor(columns).to(rows.x)
            seed = int(torch.randint(2**31, (), generator=generator))
            self.hiding = torch.Generator(rows.x.device).manual_seed(seed)
        self.n_candidates = len(strength)
        self.register_buffer("strength", strength)
        self.rows, self.valid_rows = rows, valid_rows
        self.loss_scale, self.batch_size = loss_scale, batch_size
        self.reads_leaf, self.uses_x, self.dropout = reads_leaf, uses_x, dropout
        n_features, n_splits = len(rows.x), 2**depth - 1
        self.n_nodes = 2 * n_splits + 1
        self.split = split
        device = rows.x.device

        def same_for_all(values: Tensor) -> nn.Parameter:
            # All strengths start alike, so that what parts them is the strength.
            return nn.Parameter(
                values[None].repeat(self.n_candidates, *[1] * values.dim()).to(device)
            )

        if splits is None:
            weights = _uniform((n_splits, n_features), n_features, generator)
            bias = even_bias(weights, rows.x.cpu())
        else:
            weights, bias = (torch.tensor(part).float() for part in splits)
        self.weights = same_for_all(weights)  # (E, N, F)
        self.bias = same_for_all(bias)  # (E, N)
        self.preference = None
        if formulation == "preference":
            eta = 2 * torch.rand(self.n_nodes, generator=generator) - 1
            self.preference = same_for_all(eta)  # (E, T)
        inputs = self.n_nodes + (n_features if uses_x else 0)
        sizes = (inputs, *hidden, n_outputs)
        self.layers = nn.ParameterList()  # weight (E, out, in), bias (E, out), ...
        for n_in, n_out in pairwise(sizes):
            self.layers.append(same_for_all(_uniform((n_out, n_in), n_in, generator)))
            self.layers.append(same_for_all(torch.zeros(n_out)))
        picked = torch.randperm(rows.x.shape[1], generator=generator)[:REFERENCE_ROWS]
        self.reference = rows.take(picked.to(device))

    def scores(self, x: Tensor) -> Tensor:
        """Split scores (E, N, B) of rows ``x`` (F, B); left is where they are >= 0."""
        flat = torch.addmm(
            self.bias.reshape(-1, 1), self.weights.flatten(0, 1), x
        )  # (E * N, B): one product for all trees
        score = flat.view(*self.bias.shape, -1)
        return functional.elu(score) if self.split == "elu" else score

    def traversal(self, scores: Tensor) -> tuple[Tensor, Tensor]:
        """Traversal z (E, T, B) of training rows and the activity (E, T) under them."""
        if self.preference is not None:
            return preference_traversal(scores, self.preference)
        return ridge_traversal(scores, self._price(scores.shape[-1]))

    @torch.no_grad()
    def reference_activity(self) -> Tensor:
        """Activity (E, T) outside of training, from one fixed set of training rows."""
        scores = self.scores(self.reference.x)
        if self.preference is not None:
            return preference_activity_of_splits(scores, self.preference)
        return ridge_activity_of_splits(scores, self._price(scores.shape[-1]))

    def _price(self, n_rows: int) -> Tensor:
        """Price of activity (E,): rows pull together, so it grows with them."""
        return self.strength * (n_rows / self.batch_size)

    def outputs(self, z: Tensor, x: Tensor) -> Tensor:
        """Predictor's answer (E, C, B) to traversals (E, T, B) of rows (F, B)."""
        if self.reads_leaf:
            z = (z > 0).to(z.dtype) + (z - z.detach())  # straight-through
        weight, bias = self.layers[0], self.layers[1]
        out = torch.baddbmm(bias[..., None], weight[..., : self.n_nodes], z)
        if self.uses_x:
            out = out + weight[..., self.n_nodes :] @ x
        for i in range(2, len(self.layers), 2):
            out = functional.dropout(functional.elu(out), self.dropout, self.training)
            out = torch.baddbmm(self.layers[i + 1][..., None], self.layers[i], out)
        return out

    def batch_loss(self, rows: Tensor) -> Tensor:
        """Training loss (E,) on the training rows of these indices."""
        batch = self.rows.take(rows)
        if self.columns is not None:
            batch.x = self._hide(
                batch.x,
                torch.randint(
                    len(self.columns),
                    rows.shape,
                    generator=self.hiding,
                    device=rows.device,
                ),
            )
        z, _ = self.traversal(self.scores(batch.x))
        loss = self._row_loss(self.outputs(z, batch.x), batch)
        loss = (loss * batch.weight).mean(1)
        if self.preference is not None:
            loss = loss + self.strength * self.preference.abs().amax(1)
        return loss

    @torch.no_grad()
    def valid_loss(self) -> Tensor:
        """Validation loss (E,), without the price of preferences."""
        self.eval()
        activity = self.reference_activity()
        total = 0.0
        block = max(1, BLOCK // (self.n_candidates * self.n_nodes))
        every = torch.arange(len(self.valid_rows.y), device=self.bias.device)
        n_turns = 1 if self.columns is None else len(self.columns)
        for turn in range(n_turns):
            for rows in every.split(block):
                part = self.valid_rows.take(rows)
                if self.columns is not None:
                    part.x = self._hide(part.x, torch.full_like(rows, turn))
                z = known_traversal(self.scores(part.x), activity)
                loss = self._row_loss(self.outputs(z, part.x), part)
                total = total + (loss * part.weight).sum(1)
        self.train()
        return total / (n_turns * self.valid_rows.weight.sum())

    def _hide(self, x: Tensor, column: Tensor) -> Tensor:
        """Rows (F, B) without one column of each, (B,): 0 is a z-score's mean."""
        return x * (1 - self.columns[column]).t()

    def _row_loss(self, output: Tensor, rows: Rows) -> Tensor:
        """Loss (E, B): nats, or the scaled squared error."""
        if self.loss_scale is None:
            return class_loss(output, rows.y)
        if rows.y.dim() == 2:  # several targets: their mean
            return self.loss_scale * (output - rows.y.t()).square().mean(1)
        return self.loss_scale * squared_error(output, rows.y)


def even_bias(weights: Tensor, x: Tensor) -> Tensor:
    """Bias (N,) with which each split halves the rows (F, B) that reach it.

    The paper's code starts with rows on one side and never trains the bias; without
    rows on both sides a split has nothing to learn from.
    """
    score = weights @ x  # (N, B)
    bias = torch.zeros(len(weights))
    node = torch.zeros(x.shape[1], dtype=torch.long)
    for t in range(len(weights)):
        here = node == t
        if here.any():
            low, high = score[t, here].quantile(torch.tensor([0.45, 0.55]))
            bias[t] = -(low + high) / 2
        left = score[t] + bias[t] >= 0
        node = torch.where(here, torch.where(left, 2 * t + 1, 2 * t + 2), node)
    return bias


def _uniform(shape: tuple, n_in: int, generator: torch.Generator) -> Tensor:
    """First weights: uniform, as wide as torch's own linear layers."""
    return (2 * torch.rand(shape, generator=generator) - 1) / math.sqrt(n_in)
