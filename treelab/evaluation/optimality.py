"""How far a tree's training error is from that of the best tree of its depth."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from treelab.trees.tree import Tree
from treelab.trees.words import significant


@dataclass(frozen=True)
class OptimalityGap:
    """Errors of a tree and of a searched one on the same training rows."""

    depth: int  # of the tree; the searched one is at most as deep
    # Misclassified rows, or their weight, or mean squared error in squared units of the
    # target.
    error: float
    least_error: float

    def words(self, of_classes: bool) -> str:
        """Write both errors; those of classes are rows, or what they weigh."""
        errors, least = (f"{own:,.10g}" for own in (self.error, self.least_error))
        errors += " error" if errors == "1" else " errors"
        if not of_classes:
            errors = f"squared error {significant(self.error)}"
            least = significant(self.least_error)
        return f"{errors}, the optimal tree {least}"


def optimality_gap(
    tree: Tree, searched: Sequence[Tree], X: pd.DataFrame, y, weight=None
) -> OptimalityGap | None:
    """Compare a tree with the best of the searched trees that are at most as deep.

    These were found by an exhaustive search on the same rows, of different depths. None
    where none of them is as deep: a deeper tree may be better than all.
    """
    shallow = [own for own in searched if own.depth <= tree.depth]
    if not shallow or tree.depth > max(own.depth for own in searched):
        return None
    least = min(_error(own, X, y, weight) for own in shallow)
    return OptimalityGap(tree.depth, _error(tree, X, y, weight), least)


def _error(tree: Tree, X: pd.DataFrame, y, weight) -> float:
    """Misclassified rows, or their weight; or mean squared error."""
    predicted, truth = tree.predict(X), np.asarray(y)
    if tree.classes is not None:
        is_wrong = predicted != truth
        return float((is_wrong if weight is None else weight * is_wrong).sum())
    squares = (predicted - truth.astype(float)) ** 2
    return float(np.average(squares, weights=weight))
