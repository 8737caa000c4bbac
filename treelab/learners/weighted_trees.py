"""GRANDE's network: many hard trees, each weighted by the leaf that a row reaches."""

import math

import torch
from torch import Tensor, nn

from treelab.learners.starts import random_splits
from treelab.ops.axis_trees import axis_trees
from treelab.ops.losses import class_loss, squared_error

VALID_ROWS = 2_048  # rows that are validated at once, to bound memory


class WeightedTreesNetwork(nn.Module):
    """E trees whose outputs are mixed by a softmax over their leaf weights.

    One model, so one candidate for the training loop.

    Parameters
    ----------
    x, x_valid : Tensor of shape (n, F) and (m, F)
        Encoded rows, float32.
    target, target_valid : Tensor of shape (n,) and (m,)
        Class codes (long) or standardised values (float).
    row_weight, row_weight_valid : Tensor of shape (n,) and (m,)
    n_classes : int
        0 for regression.
    n_estimators, depth : int
    n_columns : int
        Features that each tree may use.
    row_share : float
        Share of the training rows that each tree sees.
    dropout : float
        Share of the trees that a step leaves out; the others' weights make up for
        them, as the softmax is over those that stay.
    leaf_weights : bool
        A weight for each leaf; False has one for each tree.
    generator : torch.Generator
        Draws the starts, the subsets and the dropout.
    loss, focal_gamma, soft, transform
        See `class_loss`, `decide` and `select`.
    """

    n_candidates = 1

    def __init__(
        self,
        x: Tensor,
        target: Tensor,
        row_weight: Tensor,
        x_valid: Tensor,
        target_valid: Tensor,
        row_weight_valid: Tensor,
        *,
        n_classes: int,
        n_estimators: int,
        depth: int,
        n_columns: int,
        row_share: float,
        dropout: float,
        leaf_weights: bool,
        generator: torch.Generator,
        loss: str = "cross_entropy",
        focal_gamma: float = 2.0,
        soft: str = "softsign",
        transform: str = "entmax15",
    ):
        super().__init__()
        self.training_rows = (x, target, row_weight)
        self.validation_rows = (x_valid, target_valid, row_weight_valid)
        self.n_classes = n_classes
        self.dropout = dropout
        self.generator = generator
        self.loss = {"kind": loss, "focal_gamma": focal_gamma}
        self.decision = {"soft": soft, "transform": transform}
        device, n_features = x.device, x.shape[1]
        options = {"generator": generator, "device": device}
        self.columns = None
        if n_columns < n_features:
            order = torch.rand(n_estimators, n_features, **options).argsort(1)
            self.columns = order[:, :n_columns].sort(1).values  # (E, K)
        n_splits, n_outputs = 2**depth - 1, n_classes if n_classes > 2 else 1
        logits, threshold = random_splits(
            x, n_estimators, n_splits, generator, columns=self.columns
        )
        self.logits = nn.Parameter(logits)
        self.threshold = nn.Parameter(threshold)
        shape = (n_estimators, n_splits + 1, n_outputs)
        self.leaf_value = nn.Parameter(0.05 * torch.randn(shape, **options))
        n_weights = n_splits + 1 if leaf_weights else 1
        self.weight = nn.Parameter(
            0.05 * torch.randn(n_estimators, n_weights, 1, **options)
        )
        self.sees = None
        if row_share < 1:
            sees = torch.rand(n_estimators, len(x), **options) < row_share
            self.sees = sees | ~sees.any(0)  # a row that no tree would see: all do

    def leaf_weight(self) -> Tensor:
        """Weight of each leaf before the softmax over trees, (E, L, 1)."""
        return self.weight.expand(-1, self.leaf_value.shape[1], -1)

    def forward(self, x: Tensor, taking_part: Tensor | None = None) -> Tensor:
        """Raw outputs (C, B) on rows (B, F); trees that take no part (E, B) are out."""
        packed = torch.cat([self.leaf_value, self.leaf_weight()], 2)  # (E, L, C + 1)
        told = axis_trees(
            x,
            self.logits,
            self.threshold,
            packed,
            columns=self.columns,
            **self.decision,
        )  # (E, C + 1, B)
        weight = told[:, -1]
        if taking_part is not None:
            weight = weight.masked_fill(~taking_part, -math.inf)
        share = weight.softmax(0)  # (E, B)
        return (share[:, None] * told[:, :-1]).sum(0)

    def batch_loss(self, rows: Tensor) -> Tensor:
        """Mean training loss (1,) on these rows."""
        x, target, weight = (part[rows] for part in self.training_rows)
        taking_part = None if self.sees is None else self.sees[:, rows]
        if self.dropout > 0:
            taking_part = self._drop(taking_part, len(rows))
        return self._mean_loss(self(x, taking_part), target, weight)[None]

    @torch.no_grad()
    def valid_loss(self) -> Tensor:
        """Mean validation loss (1,)."""
        _, target, weight = self.validation_rows
        return self._mean_loss(self.valid_output(), target, weight)[None]

    @torch.no_grad()
    def valid_output(self) -> Tensor:
        """Raw outputs (C, m) on the validation rows."""
        x = self.validation_rows[0]
        return torch.cat([self(part) for part in x.split(VALID_ROWS)], 1)

    def _mean_loss(self, output: Tensor, target: Tensor, weight: Tensor) -> Tensor:
        """Weighted mean loss of outputs (C, B)."""
        loss = (
            class_loss(output, target, **self.loss)
            if self.n_classes
            else squared_error(output, target)
        )
        return (loss * weight).sum() / weight.sum()

    def _drop(self, taking_part: Tensor | None, n_rows: int) -> Tensor:
        """Leave out a share of the trees for this step, but never all of them."""
        n_trees = len(self.logits)
        stays = torch.rand(
            n_trees, 1, generator=self.generator, device=self.logits.device
        )
        stays = stays >= self.dropout
        left = stays.expand(-1, n_rows) if taking_part is None else taking_part & stays
        return torch.where(
            left.any(0), left, True if taking_part is None else taking_part
        )
