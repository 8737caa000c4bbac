"""What constraints add to the loss of soft trees: splits out of order, columns' costs.

Shapes: E trees, S splits and L leaves of the largest, K features that a split chooses
from, B rows of a batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from treelab.learners.common.constrained.column_rules import ColumnRules

ORDER = 3.0  # loss for a prediction that moves by 1 in the wrong direction
SMALLEST = 1e-6  # fraction of a row


@dataclass(frozen=True)
class Penalties:
    """Constraints of E trees that are no matter of which features a split is offered.

    Attributes
    ----------
    sign : Tensor of shape (E, S, K)
        1 where a feature must raise the prediction, -1 lower, else 0.
    cost : Tensor of shape (E, S, K)
        Of the feature's column, in units of the loss.
    column : LongTensor of shape (E, S, K)
        Place of the user's column that the feature is read from.
    output : int
        Class whose probability has the order; 0 for regression.
    """

    sign: Tensor
    cost: Tensor
    column: Tensor
    output: int

    @classmethod
    def of(
        cls, rules: Sequence[ColumnRules], features: np.ndarray, root_loss: float
    ) -> "Penalties | None":
        """Return the penalties of trees that choose from features (E, S, K), if any.

        Parameters
        ----------
        rules : sequence of E ColumnRules
        features : int array of shape (E, S, K)
        root_loss : float
            Of a tree that is one leaf; a column's cost is a fraction of it.
        """
        sign = np.stack([own.sign[f] for own, f in zip(rules, features)])
        cost = np.stack([own.cost[f] for own, f in zip(rules, features)])
        column = np.stack([own.column[f] for own, f in zip(rules, features)])
        if not (sign.any() or cost.any()):
            return None
        return cls(
            torch.tensor(sign, dtype=torch.float32),
            torch.tensor(root_loss * cost, dtype=torch.float32),
            torch.tensor(column),
            rules[0].output,
        )

    def to(self, device: torch.device) -> "Penalties":
        """Return the same on a device."""
        sign, cost = self.sign.to(device), self.cost.to(device)
        return Penalties(sign, cost, self.column.to(device), self.output)

    def loss(
        self, choice: Tensor, reach: Tensor, predicted: Tensor, passed: Tensor
    ) -> Tensor:
        """Return what is added to each row's loss, (E, B).

        Parameters
        ----------
        choice : Tensor of shape (E, S, K)
            Probability of each feature.
        reach : Tensor of shape (E, L, B)
            Fraction of each row that arrives at each leaf.
        predicted : Tensor of shape (E, L)
            What has the order: a probability, or a standardised value.
        passed : Tensor of shape (E, L, 2 S)
            Which splits lead to each leaf, to the left and to the right.
        """
        added = reach.new_zeros(reach.shape[0], reach.shape[2])
        if bool(self.cost.any()):
            added = added + self._column_costs(choice)[:, None]
        if bool(self.sign.any()):
            added = added + ORDER * self._out_of_order(choice, reach, predicted, passed)
        return added

    def _column_costs(self, choice: Tensor) -> Tensor:
        """Cost (E,) of the columns that are used, each as probable as its splits."""
        n_trees, n_columns = len(choice), int(self.column.max()) + 1
        column, unused = self.column.flatten(1), torch.log1p(-choice.clamp(max=0.999))
        log = choice.new_zeros(n_trees, n_columns)
        log = log.scatter_add(1, column, unused.flatten(1))
        cost = choice.new_zeros(n_trees, n_columns)
        cost = cost.scatter(1, column, self.cost.flatten(1))
        return ((1 - log.exp()) * cost).sum(1)

    def _out_of_order(
        self, choice: Tensor, reach: Tensor, predicted: Tensor, passed: Tensor
    ) -> Tensor:
        """How much a row's prediction would move the wrong way, (E, B).

        At each split, were the row to go right instead of left: a tree in which no row
        moves the wrong way at any split is monotone.
        """
        sides = passed.transpose(1, 2)  # (E, 2 S, L)
        arrived = sides @ reach
        value = sides @ (reach * predicted[..., None])
        left, right = (value / arrived.clamp(min=SMALLEST)).chunk(2, 1)  # (E, S, B)
        passing = torch.add(*arrived.chunk(2, 1))
        direction = (choice * self.sign).sum(2)[..., None]
        return (passing * torch.relu(direction * (left - right))).sum(1)
