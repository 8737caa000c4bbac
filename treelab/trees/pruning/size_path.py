"""SizePath: the best tree at each number of leaves, with its cross-validated score."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from treelab.trees.io import Stored
from treelab.trees.tree import Tree

COLUMNS = ("n_leaves", "score", "standard_error")


@dataclass(frozen=True, eq=False)
class SizePath(Stored):
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

    trees: tuple[Tree, ...]
    scores: pd.DataFrame
    chosen: int

    def __post_init__(self):
        object.__setattr__(self, "trees", tuple(self.trees))
        if not self.trees or len(self.scores) != len(self.trees):
            raise ValueError(
                f"A path needs one row of scores for each tree, got {len(self.scores)} "
                f"rows for {len(self.trees)} trees."
            )
        missing = [name for name in COLUMNS if name not in self.scores]
        if missing:
            raise ValueError(f"scores lacks the columns {', '.join(missing)}.")
        if not 0 <= self.chosen < len(self.trees):
            raise ValueError(
                f"chosen must be from 0 to {len(self.trees) - 1}, got {self.chosen}."
            )
        leaves = [tree.n_leaves for tree in self.trees]
        if sorted(leaves) != leaves:
            raise ValueError(f"Trees of a path must ascend in leaves, got {leaves}.")

    def __len__(self):
        return len(self.trees)

    def __repr__(self):
        leaves = [tree.n_leaves for tree in self.trees]
        return f"SizePath(n_leaves={leaves}, chosen={self.chosen})"

    @property
    def tree(self) -> Tree:
        """The chosen tree."""
        return self.trees[self.chosen]

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

    def with_target(self, target: str, target_unit: str = "") -> "SizePath":
        """Return the path with the name and unit of what its trees predict."""
        trees = tuple(
            replace(tree, target=target, target_unit=target_unit) for tree in self.trees
        )
        return replace(self, trees=trees)

    def pack(self) -> tuple[dict, dict[str, np.ndarray]]:
        """Return plain settings and named arrays, from which ``unpack`` rebuilds it."""
        settings, arrays = pack_trees(self.trees)
        return (
            {"trees": settings, "scores": self.scores, "chosen": int(self.chosen)},
            arrays,
        )

    @classmethod
    def unpack(cls, settings: dict, arrays: dict[str, np.ndarray]) -> "SizePath":
        """Rebuild the path that ``pack`` took apart."""
        trees = unpack_trees(settings["trees"], arrays)
        return cls(tuple(trees), settings["scores"], settings["chosen"])


def pack_trees(trees: Sequence[Tree]) -> tuple[list[dict], dict[str, np.ndarray]]:
    """Take several trees apart, as ``Stored.pack`` does one."""
    settings: list[dict] = []
    arrays: dict[str, np.ndarray] = {}
    for i, tree in enumerate(trees):
        own, parts = tree.pack()
        settings.append(own)
        arrays |= {f"{i}.{name}": part for name, part in parts.items()}
    return settings, arrays


def unpack_trees(settings: list[dict], arrays: dict[str, np.ndarray]) -> list[Tree]:
    """Rebuild the trees that ``pack_trees`` took apart."""
    parts: list[dict] = [{} for _ in settings]
    for name, array in arrays.items():
        i, _, part = name.partition(".")
        parts[int(i)][part] = array
    return [Tree.unpack(own, part) for own, part in zip(settings, parts)]


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
