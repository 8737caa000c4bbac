"""Which rows pass each node of a tree, found once for all nodes."""

import numpy as np

from treelab.trees.tree import Tree
from treelab.trees.walk import sum_up


def depth_first(tree: Tree) -> np.ndarray:
    """Return the nodes, int64 (n_nodes,), each before all that hang below it.

    What hangs below the left child comes before the right child.
    """
    order, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        if tree.left[node] >= 0:
            waiting += [int(tree.right[node]), int(tree.left[node])]
    return np.array(order)


class RowsAt:
    """The rows that pass each node: ``rows_at[node]`` are their positions.

    In depth-first order the nodes below any node lie side by side. So the rows are
    sorted by their leaf's place once, and each node's rows are one stretch of them.

    Parameters
    ----------
    tree : Tree
    leaf : int array of shape (n_rows,)
        Leaf of each row, as ``tree.apply`` returns it.

    Attributes
    ----------
    nodes : int64 array of shape (n_nodes,)
        The nodes, depth first.
    """

    def __init__(self, tree: Tree, leaf: np.ndarray):
        self.nodes = depth_first(tree)
        place = np.empty(tree.n_nodes, dtype=np.int64)
        place[self.nodes] = np.arange(tree.n_nodes)
        size = self._size = sum_up(tree, np.ones(tree.n_nodes, dtype=np.int64))
        at = place[leaf]
        self._rows = np.argsort(at, kind="stable")
        self._start = np.searchsorted(at[self._rows], place)
        self._stop = np.searchsorted(at[self._rows], place + size)

    def __getitem__(self, node: int) -> np.ndarray:
        """Return the positions of the rows at a node, int64; those of a leaf ascend."""
        return self._rows[self._start[node] : self._stop[node]]

    def below(self, node: int) -> int:
        """Return how many nodes hang below a node."""
        return int(self._size[node]) - 1
