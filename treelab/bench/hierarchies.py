"""Hierarchies of clusters from scikit-learn, to hold argmin trees against."""

from dataclasses import dataclass

import numpy as np
from sklearn.cluster import Birch, KMeans


@dataclass(frozen=True)
class Hierarchy:
    """A tree of centres; a row goes to the nearest child until there is none.

    Attributes
    ----------
    parent : int array of shape (n_nodes,)
        -1 at the root, which is node 0.
    center : float array of shape (n_nodes, n_features)
    """

    parent: np.ndarray
    center: np.ndarray

    @property
    def depth(self) -> int:
        """Steps from the root to the farthest node."""
        level = np.zeros(len(self.parent), dtype=int)
        for node in range(1, len(self.parent)):  # parents come first
            level[node] = level[self.parent[node]] + 1
        return int(level.max())

    def apply(self, x: np.ndarray) -> np.ndarray:
        """Return the node (n_rows,) at which each row of ``x`` ends."""
        leaf = np.zeros(len(x), dtype=int)
        here = {0: np.arange(len(x))}
        while here:
            node, rows = here.popitem()
            leaf[rows] = node
            children = np.flatnonzero(self.parent == node)
            if len(children) and len(rows):
                gap = x[rows][:, None] - self.center[children]  # (rows, children, F)
                nearest = children[np.square(gap).sum(2).argmin(1)]
                here |= {int(child): rows[nearest == child] for child in children}
        return leaf


def halving(x: np.ndarray, depth: int, seed: int) -> Hierarchy:
    """Split the rows (n_rows, n_features) in two by k-means, again and again."""
    parent, center = [-1], [x.mean(0)]
    waiting = [(0, np.arange(len(x)), 0)]
    while waiting:
        node, rows, level = waiting.pop()
        if level == depth or len(np.unique(x[rows], axis=0)) < 2:
            continue
        halves = KMeans(2, n_init=3, random_state=seed).fit(x[rows])
        for side in (0, 1):
            parent.append(node)
            center.append(halves.cluster_centers_[side])
            waiting.append((len(parent) - 1, rows[halves.labels_ == side], level + 1))
    return Hierarchy(np.array(parent), np.array(center))


def birch(x: np.ndarray) -> Hierarchy:
    """Birch's own tree, two children a node at most, over rows (n_rows, n_features)."""
    model = Birch(n_clusters=None, branching_factor=2).fit(x)
    parent, center = [-1], [x.mean(0)]
    waiting = [(0, model.root_)]
    while waiting:
        node, branch = waiting.pop()
        for cluster in branch.subclusters_:
            parent.append(node)
            center.append(cluster.centroid_)
            if cluster.child_ is not None:
                waiting.append((len(parent) - 1, cluster.child_))
    return Hierarchy(np.array(parent), np.array(center))
