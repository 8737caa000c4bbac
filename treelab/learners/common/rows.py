"""Encoded rows as tensors, and which of them each fold holds out."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class FoldedRows:
    """Encoded rows as tensors, and which of them each fold holds out.

    Attributes
    ----------
    x : Tensor of shape (n, F)
        Encoded features, float32.
    target : Tensor of shape (n,) or (n, n_classes)
        What to train on: class codes (long), class probabilities, or standardised
        values.
    truth : Tensor of shape (n,)
        What to validate on: class codes, or standardised values.
    weight : Tensor of shape (n, W)
        Weight of a row, under each of ``W`` weightings. Trees train under the first;
        their leaves may predict under another.
    fold : LongTensor of shape (n,)
        The fold that holds the row out; -1 where every candidate trains on it.
    n_train : int
        Rows that some candidate trains on; they come first.
    n_classes : int
        0 for regression.
    """

    x: Tensor
    target: Tensor
    truth: Tensor
    weight: Tensor
    fold: Tensor
    n_train: int
    n_classes: int

    @property
    def n_outputs(self) -> int:
        """Numbers in a leaf: one for two classes (a logit) and for regression."""
        return self.n_classes if self.n_classes > 2 else 1

    def class_weights(self) -> Tensor:
        """Weight of a row of each class under each weighting, (W, n_classes)."""
        weights = self.weight.new_ones(self.weight.shape[1], self.n_classes)
        weights[:, self.truth] = self.weight.t()
        return weights
