"""Hard oblique trees as plain arrays.

Shapes: E trees, N = 2**D - 1 splits breadth first, L = 2**D leaves, n rows,
F features, C outputs.
"""

from dataclasses import dataclass, replace

import numpy as np

from treelab.learners.get.leaves import (
    SHRINKAGE,
    leaf_means,
    leaf_models,
)
from treelab.learners.get.rows import Rows
from treelab.ops.oblique import hard_leaf

MARGIN_STD = 0.29  # standard deviation of a feature that is uniform over [0, 1]


@dataclass(frozen=True)
class HardTrees:
    """Splits of E complete trees and what their leaves predict, in encoded units.

    A split that sends all rows left has no weights and an infinite threshold.

    Attributes
    ----------
    weights : ndarray of shape (E, N, F)
        a_t of the paper's section 2.
    threshold : ndarray of shape (E, N)
        b_t of the paper's section 2.
    constants : ndarray of shape (E, L, C)
        What each leaf predicts where leaves are constant: h_t.
    models : ndarray of shape (E, L, 1 + F) or None
        Linear models of the leaves, h_t and k_t, which then replace ``constants``.
    shrinkage : float
        Pseudo-rows that shrink each node's prediction towards its parent's.
    """

    weights: np.ndarray
    threshold: np.ndarray
    constants: np.ndarray
    models: np.ndarray | None = None
    shrinkage: float = SHRINKAGE

    @classmethod
    def fit(
        cls, weights, threshold, rows: Rows, *, linear: bool, shrinkage=SHRINKAGE
    ) -> "HardTrees":
        """Compute every leaf from the rows that reach it (the paper's appendix C).

        The paper takes plain means and least squares; ours are shrunk towards the
        nodes above.
        """
        leaf = hard_leaf(rows.x, weights, threshold)
        n_leaves, models = threshold.shape[1] + 1, None
        means = leaf_means(leaf, rows.target, rows.weight, n_leaves, shrinkage)
        if linear:
            models = np.stack(
                [
                    leaf_models(of_tree, rows.x, rows.y, n_leaves, shrinkage)
                    for of_tree in leaf
                ]
            )
        return cls(weights, threshold, means, models, shrinkage)

    @property
    def depth(self) -> int:
        """Splits on every path to a leaf."""
        return self.threshold.shape[1].bit_length()

    @property
    def n_leaves(self) -> int:
        """Leaves of the first tree, where each of its splits has rows on both sides."""
        return 1 + int(np.isfinite(self.threshold[0]).sum())

    def refit(self, rows: Rows) -> "HardTrees":
        """Return the same splits, leaves recomputed from other rows."""
        return HardTrees.fit(
            self.weights,
            self.threshold,
            rows,
            linear=self.models is not None,
            shrinkage=self.shrinkage,
        )

    def with_splits(self, splits, weights, threshold, rows: Rows) -> "HardTrees":
        """Return a batch of one tree with some splits exchanged, leaves recomputed."""
        new_weights, new_threshold = self.weights.copy(), self.threshold.copy()
        new_weights[0, splits], new_threshold[0, splits] = weights, threshold
        changed = replace(self, weights=new_weights, threshold=new_threshold)
        return changed.refit(rows)

    def cut_to(self, retained: np.ndarray) -> "HardTrees":
        """Return a batch of one tree with no splits but these, (N,) of its first ones.

        Its leaves are to be computed anew.
        """
        weights, threshold = (
            part[:, : len(retained)] for part in (self.weights, self.threshold)
        )
        return replace(
            self,
            weights=np.where(retained[:, None], weights, 0.0),
            threshold=np.where(retained, threshold, np.inf),
        )

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Values or class probabilities (E, n, C) for encoded rows (n, F)."""
        leaf = hard_leaf(x, self.weights, self.threshold)
        if self.models is None:
            return np.take_along_axis(self.constants, leaf[..., None], axis=1)
        found = [models[at] for models, at in zip(self.models, leaf)]  # (n, 1 + F) each
        slopes = [np.einsum("nf,nf->n", own[:, 1:], x) for own in found]
        return np.stack([own[:, 0] + of for own, of in zip(found, slopes)])[..., None]

    def nodes_at(self, x: np.ndarray, level: int) -> np.ndarray:
        """Node (n,) of a level, from 0, that rows (n, F) reach in a batch of one."""
        leaf = hard_leaf(x, self.weights, self.threshold)[0]
        return leaf >> (self.depth - level)

    def node_losses(self, rows: Rows, level: int) -> np.ndarray:
        """Summed loss (2**level,) of the rows under each node, in a batch of one."""
        losses = rows.row_loss(self.predict(rows.x))[0]
        return np.bincount(self.nodes_at(rows.x, level), losses, 2**level)

    def take(self, index: int) -> "HardTrees":
        """Return one tree as a batch of its own."""
        at = slice(index, index + 1)
        return replace(
            self,
            weights=self.weights[at],
            threshold=self.threshold[at],
            constants=self.constants[at],
            models=None if self.models is None else self.models[at],
        )


def standardise_margins(
    weights: np.ndarray, threshold: np.ndarray, x: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Scale each split so that its margins vary alike among the rows that reach it.

    No row changes sides; a scale factor then means the same at every split, deep in
    the tree or at its root. Splits that nearly no row reaches stay as they are. The
    paper leaves the scale of the weights free.
    """
    weights, threshold = weights.copy(), threshold.copy()
    n_splits = threshold.shape[1]
    for e, leaf in enumerate(hard_leaf(x, weights, threshold)):
        factor = np.ones(n_splits)
        node = leaf + n_splits
        while node[0] > 0:
            node = (node - 1) // 2
            total = np.einsum("nf,nf->n", weights[e][node], x)
            count = np.bincount(node, minlength=n_splits)
            mean = np.bincount(node, total, n_splits) / np.maximum(count, 1)
            square = np.bincount(node, (total - mean[node]) ** 2, n_splits)
            std = np.sqrt(square / np.maximum(count, 1))
            known = (count > 4) & (std > 1e-9)
            factor = np.where(known, MARGIN_STD / np.where(known, std, 1.0), factor)
        weights[e] *= factor[:, None]
        threshold[e] *= factor
    return weights, threshold
