"""The paper's recipe: hard trees by straight-through gradients, chosen on a fifth.

Source: Marton, Ludtke, Bartelt and Stuckenschmidt, "GradTree: Learning Axis-Aligned
Decision Trees with Gradient Descent", AAAI 2024, arXiv:2305.03515: algorithms 1 and 2,
appendices A, C and D. Random complete trees, early stopping, the mean of five
checkpoints, the restart with the lowest validation loss, its leaves as they trained.

Shapes: E restarts, N splits, L leaves, F features, C outputs, B rows.
"""

import math

import numpy as np
import torch
from torch import Tensor, nn

from treelab.learners.common.objective import Objective
from treelab.learners.gradtree.encodings import Encoding
from treelab.learners.gradtree.hard_tree import HardTree
from treelab.learners.gradtree.oversample import smote_rows
from treelab.learners.gradtree.settings import GradTreeSettings
from treelab.ops.axis_trees import axis_trees
from treelab.ops.select import chosen_split
from treelab.training.events import Monitor
from treelab.training.loop import train
from treelab.training.plan import TrainingPlan, steps_per_epoch

N_CHECKPOINTS = 5  # whose mean is tried
RARE = 0.25  # a rarer smallest class, over (classes - 1), is oversampled
EVALUATED_STEPS = 10  # about so many between two measurements of the validation loss


class StraightThroughTrees(nn.Module):
    """E complete trees: the forward pass is hard, the gradient that of soft choices.

    Parameters
    ----------
    x, target : Tensor of shape (n, F), (n,)
        Training rows.
    x_valid, target_valid : Tensor
        Rows that stop training and choose a restart.
    objective : Objective
    settings : GradTreeSettings
    generator : torch.Generator
        Draws the starts.
    """

    def __init__(
        self, x, target, x_valid, target_valid, objective, settings, generator
    ):
        super().__init__()
        self.x, self.target = x, target
        self.x_valid, self.target_valid = x_valid, target_valid
        self.objective, self.settings = objective, settings
        self.n_candidates = settings.n_restarts
        n_features, depth = x.shape[1], settings.max_depth
        n_outputs = objective.n_classes if objective.n_classes > 2 else 1

        def uniform(*shape: int, bound: float) -> nn.Parameter:
            drawn = torch.rand(shape, generator=generator, device=x.device)
            return nn.Parameter((2 * drawn - 1) * bound)

        # Algorithm 2 draws I, T and L uniformly, by Glorot's bounds.
        n_splits, e = 2**depth - 1, self.n_candidates
        bound = math.sqrt(6 / (2 ** (2 * depth - 1) + n_features))
        self.logits = uniform(e, n_splits, n_features, bound=bound)
        self.threshold = uniform(e, n_splits, n_features, bound=bound)
        bound = math.sqrt(6 / (2 ** (2 * depth) + n_outputs))
        self.leaf_value = uniform(e, n_splits + 1, n_outputs, bound=bound)

    def forward(self, x: Tensor) -> Tensor:
        """Raw outputs (E, C, B) on encoded rows (B, F)."""
        return axis_trees(
            x,
            self.logits,
            self.threshold,
            self.leaf_value,
            soft=self.settings.decision,
            transform=self.settings.selector,
        )

    def batch_loss(self, rows: Tensor) -> Tensor:
        """Mean training loss (E,) on these rows."""
        return self.objective.loss(self(self.x[rows]), self.target[rows]).mean(1)

    @torch.no_grad()
    def valid_loss(self) -> Tensor:
        """Mean validation loss (E,)."""
        return self.objective.loss(self(self.x_valid), self.target_valid).mean(1)

    @torch.no_grad()
    def hard_tree(self, tree: int) -> tuple[HardTree, np.ndarray]:
        """Return one tree and its leaves' raw outputs (L, C), left to right."""
        only = slice(tree, tree + 1)
        _, feature, threshold = chosen_split(
            self.logits[only], self.threshold[only], None
        )
        value = self.leaf_value[tree].double().cpu().numpy()
        own = HardTree.complete(feature[0].cpu().numpy(), threshold[0].cpu().numpy())
        return own, value


def train_straight_through(
    encoding: Encoding,
    y: np.ndarray,
    objective: Objective,
    settings: GradTreeSettings,
    monitor: Monitor,
    generator: torch.Generator,
) -> tuple[HardTree, HardTree, np.ndarray]:
    """Train the restarts; return the best one's start, the tree and its leaves (L, C).

    Parameters
    ----------
    encoding : Encoding
        Its held-out rows are those to validate on.
    y : ndarray of shape (n,)
        Class codes or values.
    """
    own, seed = ~encoding.held_out, generator.initial_seed() % 2**31
    x, target = encoding.x[own], y[own]
    if objective.n_classes:
        rarest = np.bincount(target, minlength=objective.n_classes).min() / len(target)
        if rarest < RARE / (objective.n_classes - 1):
            made_x, made_y = smote_rows(x, target, seed=seed)
            x, target = np.concatenate([x, made_x]), np.concatenate([target, made_y])
    valid = ~own if encoding.held_out.any() else own
    device = generator.device
    trees = StraightThroughTrees(
        torch.tensor(x, device=device),
        torch.tensor(objective.encode(target), device=device),
        torch.tensor(encoding.seen[valid], device=device),
        torch.tensor(objective.encode(y[valid]), device=device),
        objective,
        settings,
        generator,
    )
    starts = [trees.hard_tree(tree)[0] for tree in range(trees.n_candidates)]
    batch_size = min(settings.batch_size, len(x))
    steps = steps_per_epoch(len(x), batch_size)
    optimizer = torch.optim.Adam(
        [
            {"params": [trees.logits], "lr": settings.learning_rate_index},
            {"params": [trees.threshold], "lr": settings.learning_rate_values},
            {"params": [trees.leaf_value], "lr": settings.learning_rate_leaf},
        ],
        fused=True,
    )
    at_start = trees.valid_loss().cpu().numpy()
    monitor.report(0, np.full(trees.n_candidates, math.nan), at_start)
    plan = TrainingPlan(
        n_rows=len(x),
        batch_size=batch_size,
        max_epochs=settings.max_epochs,
        patience=settings.patience,
        evaluate_every=max(1, round(EVALUATED_STEPS / steps)),
        n_averaged=N_CHECKPOINTS,
        has_open_end=True,
    )
    result = train(trees, optimizer, plan, generator=generator, monitor=monitor)
    result.warn_if_diverged()
    best = result.best
    monitor.retain(best)
    tree, value = trees.hard_tree(best)
    return starts[best], tree, value
