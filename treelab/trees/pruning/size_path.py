"""SizePath: the best tree at each number of leaves, with its cross-validated score."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from treelab.trees.pruning.scored_trees import ScoredTrees
from treelab.trees.tree import Tree

COLUMNS = ("n_leaves", "score", "standard_error")


@dataclass(frozen=True, eq=False)
class SizePath(ScoredTrees):
    """One tree for each size, ascending, of one learner and one fit.

    Parameters
    ----------
    trees : tuple of Tree
        Ascending in leaves, of the same features and classes.
    scores : DataFrame
        A row a tree: ``n_leaves`` (most leaves at which this was the best), ``score``
        (cross-validated macro F1 or R², NaN where none was measured) and
        ``standard_error`` of it over the folds.
    chosen : int
        Which tree the learner's ``tree_`` is.

    Raises
    ------
    ValueError
        If the parts do not fit each other.
    """

    columns: ClassVar[tuple[str, ...]] = COLUMNS
    noun: ClassVar[str] = "A path"

    def __post_init__(self):
        super().__post_init__()
        leaves = [tree.n_leaves for tree in self.trees]
        if sorted(leaves) != leaves:
            raise ValueError(f"Trees of a path must ascend in leaves, got {leaves}.")

    def __repr__(self):
        leaves = [tree.n_leaves for tree in self.trees]
        return f"SizePath(n_leaves={leaves}, chosen={self.chosen})"

    def at(self, n_leaves: int) -> Tree:
        """Return the largest tree with at most ``n_leaves`` leaves.

        Raises
        ------
        ValueError
            If no tree is that small.
        """
        small = [tree for tree in self.trees if tree.n_leaves <= n_leaves]
        if not small:
            raise ValueError(
                f"The smallest tree of the path has {self.trees[0].n_leaves} leaves; "
                f"none has at most {n_leaves}."
            )
        return small[-1]


def within_one_standard_error(fold_scores: np.ndarray) -> tuple[int, np.ndarray]:
    """Choose the smallest size within one standard error of the best.

    Source: Breiman, Friedman, Olshen and Stone, "Classification and Regression Trees",
    1984, section 3.4.3. The error is that of the difference from the best size: the
    same folds score both, so what makes a fold hard or easy cancels out.

    Parameters
    ----------
    fold_scores : ndarray of shape (n_sizes, n_folds)
        Higher is better; sizes ascending.

    Returns
    -------
    chosen : int
    standard_error : ndarray of shape (n_sizes,)
        Of each size's mean score over the folds; 0 with one fold.
    """
    n_folds = fold_scores.shape[1]
    mean = fold_scores.mean(1)
    best = int(mean.argmax())
    if n_folds == 1:
        return best, np.zeros(len(mean))
    behind = fold_scores[best] - fold_scores
    allowed = behind.std(1, ddof=1) / np.sqrt(n_folds)
    chosen = int((behind.mean(1) <= allowed).argmax())
    return chosen, fold_scores.std(1, ddof=1) / np.sqrt(n_folds)
