"""GRANDE's network: many hard trees, each weighted by the leaf that a row reaches.

In the symbols of Marton et al., arXiv:2309.17130: I (selectors), T (thresholds),
L (leaf outputs) and W (leaf weights) are one tensor each, for all trees (section 3.1).
"""

import torch
from torch import Tensor, nn

from treelab.learners.common.objective import Objective
from treelab.learners.grande.rows import Rows
from treelab.learners.grande.settings import GrandeSettings
from treelab.learners.grande.starts import SPREAD, Starts
from treelab.learners.grande.weighting import entropy, weighted_prediction
from treelab.ops.axis_trees import axis_trees

VALID_ROWS = 2_048  # rows that are validated at once, to bound memory


class WeightedTreesNetwork(nn.Module):
    """Sub-ensembles of trees; `weighted_prediction` mixes the trees of each.

    Each sub-ensemble is one candidate for the training loop: it never trains on the
    rows of its own fold, and is validated on them. Parameters have the shape
    (G, E, ...): G sub-ensembles of E trees.

    Parameters
    ----------
    rows : Rows
        What to train and validate on; sub-ensemble ``g`` holds out fold ``g``.
    starts : Starts
        Of all ``G * E`` trees, one sub-ensemble after another.
    objective : Objective
    settings : GrandeSettings
    generator : torch.Generator
        Draws the leaf weights, the trees' training rows, the dropout, and how few trees
        must do in each step.

    Attributes
    ----------
    logits, threshold : Parameter of shape (G, E, N, K)
        I and T of the paper, for the K features that a tree may use.
    leaf_value, leaf_weight : Parameter of shape (G, E, L, C) and (G, E, L or 1, 1)
        L and W of the paper.
    concentration : Parameter of shape (G, 1, 1, 1)
        Multiplies the leaf weights; no gradient, but checkpoints save it. Ours.
    max_deciders : int or None
        Trees that may decide a row, for now. Ours.
    """

    def __init__(
        self,
        rows: Rows,
        starts: Starts,
        objective: Objective,
        settings: GrandeSettings,
        generator: torch.Generator,
    ):
        super().__init__()
        self.rows = rows
        self.objective = objective
        self.settings = settings
        self.generator = generator
        self.n_candidates = rows.n_folds
        device = rows.x.device

        def by_fold(of_trees: Tensor) -> Tensor:
            return of_trees.unflatten(0, (rows.n_folds, -1)).contiguous()

        self.logits = nn.Parameter(by_fold(starts.logits))
        self.threshold = nn.Parameter(by_fold(starts.threshold))
        self.leaf_value = nn.Parameter(by_fold(starts.leaf_value))
        n_weights = self.leaf_value.shape[2] if settings.leaf_weights else 1
        shape = (*self.leaf_value.shape[:2], n_weights, 1)
        self.leaf_weight = nn.Parameter(
            SPREAD * torch.randn(shape, generator=generator, device=device)
        )
        self.concentration = nn.Parameter(
            torch.ones(rows.n_folds, 1, 1, 1, device=device), requires_grad=False
        )
        self.max_deciders: int | None = None
        self.columns = None if starts.columns is None else by_fold(starts.columns)
        fold = torch.arange(rows.n_folds, device=device)[:, None]
        self.train_weight = rows.weight * (rows.fold != fold)  # (G, n)
        self.held_out = [(rows.fold == g).nonzero()[:, 0] for g in range(rows.n_folds)]
        self.sees = None  # the training rows of each tree, (G, E, n_train)
        if settings.data_fraction < 1:
            self.sees = self._draw_rows(settings.data_fraction)

    @property
    def is_captured(self) -> bool:
        """Whether a GPU may replay steps: how many trees may decide falls no more."""
        last = self.settings.max_deciders
        n_trees = self.logits.shape[1]
        return last is None or self.max_deciders == min(last, n_trees)

    def leaves(self, folds: slice = slice(None)) -> Tensor:
        """Raw outputs and, last, the weight of each leaf, (G * E, L, C + 1)."""
        value = self.objective.leaf_outputs(self.leaf_value[folds])
        weight = self.concentration[folds] * self.leaf_weight[folds]
        weight = weight.expand(-1, -1, value.shape[2], -1)
        return torch.cat([value, weight], -1).flatten(0, 1)

    def forward(
        self, x: Tensor, active: Tensor | None = None, folds: slice = slice(None)
    ) -> Tensor:
        """Raw outputs (G, C, B) of some sub-ensembles on rows (B, F).

        Trees that are not active, False in (G, E, 1) or (G, E, B), are left out.
        """
        return self.mix(self.reached(x, folds), active, self.max_deciders)[0]

    def reached(self, x: Tensor, folds: slice = slice(None)) -> Tensor:
        """Raw outputs and, last, the weight of each row's leaves, (G, E, C + 1, B).

        Equations 2 to 4: g of every tree, the indicator of the leaf that a row reaches,
        and hard splits, whose gradient is that of softsign (equation 6). The indicator
        that picks a leaf's output picks its weight, the sum over W in equation 7.
        """
        logits = self.logits[folds]
        return axis_trees(
            x,
            logits.flatten(0, 1),
            self.threshold[folds].flatten(0, 1),
            self.leaves(folds),
            columns=None if self.columns is None else self.columns[folds].flatten(0, 1),
            soft=self.settings.decision,
            transform=self.settings.selector,
        ).unflatten(0, logits.shape[:2])

    def mix(
        self,
        reached: Tensor,
        active: Tensor | None,
        max_deciders: int | None,
        fewer: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Raw outputs (G, C, B) and estimator weights (G, E, B) of reached leaves.

        Equation 7, ``G(x) = sigma(w(x)) . p(x)``; with one weight a tree (equation 5),
        w is the same for all rows.
        """
        return weighted_prediction(
            reached[:, :, :-1],
            reached[:, :, -1],
            active,
            weighting=self.settings.weighting,
            max_deciders=max_deciders,
            fewer=fewer,
        )

    def batch_loss(self, rows: Tensor) -> Tensor:
        """Mean training loss (G,) on these rows, each own fold left out.

        The entropy of the estimator weights is penalised: few trees shall decide. Where
        only some may, half of the loss is that of still fewer, drawn for this step.
        """
        active = None if self.sees is None else self.sees[:, :, rows]
        if self.settings.dropout > 0:
            active = self._drop_trees(active)
        reached = self.reached(self.rows.x[rows])
        output, weights = self.mix(reached, active, self.max_deciders)
        loss = self.objective.loss(output, self.rows.target[rows])  # (G, B)
        if self.max_deciders is not None:
            fewer = self._draw_fewer(self.max_deciders)
            by_fewer, _ = self.mix(reached, active, self.max_deciders, fewer)
            loss = (loss + self.objective.loss(by_fewer, self.rows.target[rows])) / 2
        if self.settings.entropy_penalty > 0:
            loss = loss + self.settings.entropy_penalty * entropy(weights)
        weight = self.train_weight[:, rows]
        return (loss * weight).sum(1) / weight.sum(1).clamp(min=1e-12)

    @torch.no_grad()
    def valid_loss(self) -> Tensor:
        """Mean loss on held-out rows, each fold's its own sub-ensemble's; (G,).

        Sub-ensembles share the mean over the folds: how long to train is one choice.
        """
        means = []
        for output, rows in zip(self.valid_outputs(), self.held_out):
            weight = self.rows.weight[rows]
            loss = self.objective.loss(output, self.rows.target[rows])
            means.append((loss * weight).sum() / weight.sum())
        return torch.stack(means).mean().repeat(self.n_candidates)

    @torch.no_grad()
    def valid_outputs(self) -> list[Tensor]:
        """Raw outputs (C, m) of each sub-ensemble on the m rows that it holds out."""
        return [
            torch.cat(
                [
                    self(x, folds=slice(g, g + 1))[0]
                    for x in self.rows.x[rows].split(VALID_ROWS)
                ],
                1,
            )
            for g, rows in enumerate(self.held_out)
        ]

    def _draw_rows(self, fraction: float) -> Tensor:
        """Draw which training rows each tree sees, (G, E, n_train).

        Section 3.4 of arXiv:2309.17130, data subset.
        """
        shape = (self.logits.shape[0] * self.logits.shape[1], self.rows.n_train)
        drawn = torch.rand(shape, generator=self.generator, device=self.logits.device)
        sees = (drawn < fraction).unflatten(0, self.logits.shape[:2])
        # A row that no tree of a sub-ensemble would see: all do.
        return sees | ~sees.any(1, keepdim=True)

    def _draw_fewer(self, most: int) -> Tensor:
        """Draw how few trees must do in a step of training, at least half of the most.

        So the heaviest trees learn to do without the next ones: nested dropout, Rippel,
        Gelbart and Adams, "Learning Ordered Representations with Nested Dropout",
        arXiv:1402.0915; the loss of most beside that of fewer as in Yu and Huang,
        "Universally Slimmable Networks and Improved Training Techniques",
        arXiv:1903.05134.
        """
        few, device = -(-most // 2), self.logits.device
        return torch.randint(
            few, most + 1, (1,), generator=self.generator, device=device
        )

    def _drop_trees(self, active: Tensor | None) -> Tensor:
        """Leave out a fraction of the trees, but never all of a sub-ensemble.

        Section 3.4 of arXiv:2309.17130, dropout.
        """
        shape = (*self.logits.shape[:2], 1)
        drawn = torch.rand(shape, generator=self.generator, device=self.logits.device)
        stays = drawn >= self.settings.dropout
        possible = torch.ones_like(stays) if active is None else active
        remaining = possible & stays
        return torch.where(remaining.any(1, keepdim=True), remaining, possible)
