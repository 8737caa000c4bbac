"""Many hard, axis-aligned trees as one module: restarts, depths and folds at once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from treelab.ops.axis_trees import axis_leaves, axis_trees
from treelab.ops.losses import class_loss, squared_error
from treelab.ops.select import chosen_split

LEAF_PRIOR = 1.0  # rows' worth of the overall mean that every leaf holds


@dataclass(frozen=True)
class Rows:
    """Encoded rows as tensors, and which of them each fold holds out.

    Attributes
    ----------
    x : Tensor of shape (n, F)
        Encoded features, float32.
    target : Tensor of shape (n,) or (n, n_classes)
        Class codes (long), a teacher's shares, or standardised values.
    weight : Tensor of shape (n, W)
        What a row counts, under each of ``W`` weightings.
    fold : LongTensor of shape (n,)
        The fold that holds the row out; -1 where every candidate trains on it.
    n_train : int
        Rows that some candidate trains on; they come first.
    n_classes : int
        0 for regression.
    """

    x: Tensor
    target: Tensor
    weight: Tensor
    fold: Tensor
    n_train: int
    n_classes: int

    @property
    def n_outputs(self) -> int:
        """Numbers in a leaf: one for two classes (a logit) and for regression."""
        return self.n_classes if self.n_classes > 2 else 1


@dataclass(frozen=True)
class Candidate:
    """One tree of the batch: its depth, the fold it never sees, how it started."""

    depth: int
    fold: int = 0
    start: str = "random"
    weighting: int = 0


class TreeBatch(nn.Module):
    """E trees with parameters padded to the deepest one; see `axis_trees`.

    Parameters
    ----------
    rows : Rows
        What to train and validate on.
    candidates : sequence of E Candidate
        Ordered by depth.
    logits, threshold : Tensor of shape (E, N, F)
        Where the selectors and thresholds start.
    leaf_value : Tensor of shape (E, L, C)
        Where the leaves start.
    soft, transform : str
        See `decide` and `select`.
    loss, focal_gamma, poly_epsilon
        See `class_loss`; not used for regression.
    """

    def __init__(
        self,
        rows: Rows,
        candidates: Sequence[Candidate],
        logits: Tensor,
        threshold: Tensor,
        leaf_value: Tensor,
        *,
        soft: str = "logistic",
        transform: str = "entmax15",
        loss: str = "cross_entropy",
        focal_gamma: float = 2.0,
        poly_epsilon: float = 1.0,
    ):
        super().__init__()
        self.rows = rows
        self.candidates = tuple(candidates)
        self.n_candidates = len(self.candidates)
        self.depths = tuple(candidate.depth for candidate in self.candidates)
        self.logits = nn.Parameter(logits)
        self.threshold = nn.Parameter(threshold)
        self.leaf_value = nn.Parameter(leaf_value)
        self.decision = {"soft": soft, "transform": transform}
        self.loss = {
            "kind": loss,
            "focal_gamma": focal_gamma,
            "poly_epsilon": poly_epsilon,
        }
        device = logits.device
        fold = torch.tensor([c.fold for c in self.candidates], device=device)
        weighting = torch.tensor([c.weighting for c in self.candidates], device=device)
        held_out = rows.fold == fold[:, None]  # (E, n)
        weight = rows.weight.t()[weighting]  # (E, n)
        self.register_buffer("weight", weight, persistent=False)
        self.register_buffer("train_weight", weight * ~held_out, persistent=False)
        self.register_buffer("valid_weight", weight * held_out, persistent=False)
        self.latest_valid_loss = torch.full((self.n_candidates,), torch.inf)

    def forward(self, x: Tensor) -> Tensor:
        """Raw outputs (E, C, B) on encoded rows (B, F)."""
        return axis_trees(
            x,
            self.logits,
            self.threshold,
            self.leaf_value,
            depths=self.depths,
            **self.decision,
        )

    def row_loss(self, output: Tensor, target: Tensor) -> Tensor:
        """Loss (E, B) of raw outputs (E, C, B)."""
        if self.rows.n_classes == 0:
            return squared_error(output, target)
        return class_loss(output, target, **self.loss)

    def batch_loss(self, rows: Tensor) -> Tensor:
        """Mean training loss (E,) on these rows, each tree's own fold left out."""
        output = self(self.rows.x[rows])
        loss = self.row_loss(output, self.rows.target[rows])
        return _weighted_mean(loss, self.train_weight[:, rows])

    @torch.no_grad()
    def valid_loss(self) -> Tensor:
        """Mean loss (E,) on the rows that each tree's fold holds out."""
        loss = self.row_loss(self(self.rows.x), self.rows.target)
        self.latest_valid_loss = _weighted_mean(loss, self.valid_weight)
        return self.latest_valid_loss

    def leaves(self, x: Tensor) -> Tensor:
        """Leaf (E, B) that each encoded row (B, F) reaches."""
        return axis_leaves(x, self.logits, self.threshold, depths=self.depths)

    def leader(self) -> int:
        """Candidate with the lowest validation loss when last measured."""
        return int(torch.nan_to_num(self.latest_valid_loss, nan=torch.inf).argmin())

    @torch.no_grad()
    def reset(self, parameters: Sequence[Tensor], mask: Tensor) -> None:
        """Put the candidates of ``mask`` (E,) back to these parameters."""
        for now, then in zip(self.parameters(), parameters):
            now.copy_(torch.where(mask.view(-1, *[1] * (now.ndim - 1)), then, now))

    def splits(self, tree: int) -> tuple[np.ndarray, np.ndarray]:
        """Feature and threshold (encoded, float32) of every split of one tree."""
        n_splits = 2 ** self.depths[tree] - 1
        _, feature, threshold = chosen_split(
            self.logits[tree : tree + 1, :n_splits],
            self.threshold[tree : tree + 1, :n_splits],
        )
        return feature[0].cpu().numpy(), threshold[0].detach().cpu().numpy()

    @torch.no_grad()
    def refitted(self, tree: int, x: Tensor, n_rows: int) -> np.ndarray:
        """What the leaves of one tree say when fitted to the first `n_rows` rows.

        Parameters
        ----------
        x : Tensor of shape (n_rows, F)
            Those rows as they will be encoded at prediction.

        Returns
        -------
        ndarray of shape (L, n_classes or 1)
            Class shares, or means in the units of the rows' target.
        """
        n_leaves = 2 ** self.depths[tree]
        leaf = axis_leaves(
            x.to(self.logits.device),
            self.logits[tree : tree + 1, : n_leaves - 1],
            self.threshold[tree : tree + 1, : n_leaves - 1],
        )
        rows = replace(self.rows, target=self.rows.target[:n_rows])
        weight = self.weight[tree : tree + 1, :n_rows]
        value = leaf_means(leaf, rows, weight, n_leaves, prior=LEAF_PRIOR)
        return value[0].double().cpu().numpy()

    @torch.no_grad()
    def fit_leaves(self) -> None:
        """Set every leaf to what its training rows say."""
        self.leaf_value.copy_(
            leaf_outputs(
                self.leaves(self.rows.x),
                self.rows,
                self.train_weight,
                self.leaf_value.shape[1],
            )
        )


def leaf_outputs(
    leaf: Tensor,
    rows: Rows,
    weight: Tensor,
    n_leaves: int,
    *,
    prior: float = LEAF_PRIOR,
) -> Tensor:
    """Raw outputs that fit each leaf's rows best, drawn to the mean of all rows.

    Parameters
    ----------
    leaf : LongTensor of shape (E, n)
        Leaf that each row reaches.
    rows : Rows
        Targets of the rows.
    weight : Tensor of shape (E, n)
        What each row counts for each tree.
    n_leaves : int
        Leaves a tree, L.
    prior : float, default=LEAF_PRIOR
        Rows' worth of the overall mean that is added to every leaf.

    Returns
    -------
    Tensor of shape (E, L, C)
        Logits, or values in the units of the target.
    """
    told = leaf_means(leaf, rows, weight, n_leaves, prior=prior)
    if rows.n_classes == 0:
        return told
    log_p = told.clamp(min=1e-6).log()
    if rows.n_classes == 2:
        return log_p[..., 1:] - log_p[..., :1]
    return log_p - log_p.mean(-1, keepdim=True)


def leaf_means(
    leaf: Tensor, rows: Rows, weight: Tensor, n_leaves: int, *, prior: float = 0.0
) -> Tensor:
    """Weighted mean target in each leaf, (E, L, n_classes or 1); see `leaf_outputs`.

    A leaf that no row reaches takes the mean of all rows.
    """
    target = rows.target
    if rows.n_classes and target.ndim == 1:
        target = nn.functional.one_hot(target, rows.n_classes)
    target = target.reshape(len(target), -1).to(weight.dtype)  # (n, C)
    n_trees, n_outputs = len(leaf), target.shape[1]
    flat = (leaf + n_leaves * torch.arange(n_trees, device=leaf.device)[:, None]).view(
        -1
    )
    total = weight.new_zeros(n_trees * n_leaves, n_outputs)
    for output in range(n_outputs):
        part = weight * target[:, output]  # (E, n)
        total[:, output].index_add_(0, flat, part.reshape(-1))
    count = weight.new_zeros(n_trees * n_leaves).index_add_(0, flat, weight.reshape(-1))
    total = total.view(n_trees, n_leaves, n_outputs)
    count = count.view(n_trees, n_leaves, 1)
    overall = (weight @ target) / weight.sum(1, keepdim=True).clamp(min=1e-12)
    prior = torch.where(count > 0, prior, max(prior, 1.0))
    return (total + prior * overall[:, None]) / (count + prior)


def _weighted_mean(loss: Tensor, weight: Tensor) -> Tensor:
    """Mean (E,) of losses (E, B); zero where nothing counts."""
    return (loss * weight).sum(1) / weight.sum(1).clamp(min=1e-12)
