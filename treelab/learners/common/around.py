"""An edited tree, some of whose splits are held fixed while the others are trained."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from treelab.trees.tree import Tree, leaf_of, rows_through


def row_weights(weight: np.ndarray | None, n_rows: int) -> np.ndarray:
    """Return the weight of each row, (n_rows,) of mean 1; None: all count alike."""
    return np.ones(n_rows) if weight is None else weight / np.mean(weight)


@dataclass(frozen=True, eq=False)
class Around:
    """What is trained, and what is held fixed."""

    tree: Tree  # parents numbered before their children
    locked: np.ndarray  # bool (n_nodes,): splits that do not move
    allowed: np.ndarray  # bool (n_nodes, n_features): what each split may test
    class_weights: np.ndarray  # float (n_classes,)
    # Returns a tree of this shape with its leaves fitted.
    with_leaves: Callable[[Tree], Tree]

    def rewritten(self, **splits) -> Tree:
        """Return the tree with other splits, which know no rows yet."""
        return replace(self.tree, between=None, missing_rows=None, **splits)

    def fill(self, matrix: np.ndarray) -> np.ndarray:
        """Return what stands for missing values of each feature, (n_features,).

        That is the feature's own number, or the median of the known values in
        ``matrix`` (n_rows, n_features).
        """
        fill = np.array([feature.fill for feature in self.tree.features])
        for j in np.flatnonzero(np.isnan(fill)):
            known = matrix[~np.isnan(matrix[:, j]), j]
            fill[j] = np.median(known) if len(known) else 0.0
        return fill

    def is_kept_by(self, tree: Tree, matrix: np.ndarray) -> bool:
        """Whether locked splits of a trained tree have rows (n, F) on both sides.

        Else they would not stay in the tree.
        """
        passed = rows_through(tree, leaf_of(tree, matrix))
        sides = np.concatenate([tree.left[self.locked], tree.right[self.locked]])
        return bool((passed[sides] > 0).all())
