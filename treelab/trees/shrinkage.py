"""Probabilities of a tree's nodes, shrunk towards those of the nodes above.

The fractions of few rows are too sure of themselves. Each node takes ``strength`` rows
more that are mixed as the node above says: the m-estimate (Cestnik, "Estimating
probabilities", ECAI 1990), along the path as in "Hierarchical Shrinkage" (Agarwal et
al., ICML 2022, arXiv:2202.00858). 0 leaves fractions of rows, very many give every node
those of the root.
"""

from dataclasses import replace

import numpy as np

from treelab.trees.tree import Tree


def shrunk_fractions(
    tree: Tree, counts: np.ndarray, strength: float | np.ndarray
) -> np.ndarray:
    """Return the probabilities (n_nodes, n_classes) of the classes at every node.

    ``counts`` of that shape are rows of each class that pass, at least one at the root.
    ``strength``, of at least 0, is how many rows each node's parent counts for; several
    (n_strengths,) give as many probabilities along a first axis. The root has its plain
    fractions; a node without rows those of its parent.
    """
    strength = np.asarray(strength)[..., None, None]
    value = np.empty(strength.shape[:-2] + counts.shape)
    value[..., 0, :] = counts[0] / counts[0].sum()
    for level in range(1, tree.depth + 1):
        at = np.flatnonzero(tree.level == level)
        above = value[..., tree.parent[at], :]
        n_rows = counts[at].sum(axis=1, keepdims=True)
        mixed = counts[at] + strength * above
        total = n_rows + strength
        value[..., at, :] = np.divide(mixed, total, out=above, where=total > 0)
    return value


def with_shrunk_values(
    tree: Tree, strength: float, costs: np.ndarray | None = None
) -> Tree:
    """Return a tree that predicts the same classes, with shrunk probabilities.

    It has its training rows, and each node's class is what its value says; ``strength``
    as in ``shrunk_fractions``. Where errors have costs, (n_classes, n_classes) of each
    prediction (column) for a row of each class, the class is the one of lowest expected
    cost by these probabilities: few rows without the dear class do not say that there
    is none (Zadrozny and Elkan, "Learning and making decisions when costs and
    probabilities are both unknown", KDD 2001).
    """
    assert tree.class_counts is not None
    chosen = tree.predicted_class
    value = shrunk_fractions(tree, tree.class_counts, strength)
    if costs is not None:
        chosen = (value @ costs).argmin(axis=1)
    is_plain = np.array_equal(chosen, value.argmax(axis=1))
    return replace(
        tree,
        value=value,
        decision=None if is_plain else chosen,
        shrinkage=float(strength),
    )
