"""How alike the routes of classes are: which way each takes through one tree."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import dendrogram, leaves_list, linkage
from scipy.spatial.distance import pdist, squareform

from treelab.trees.tree import Tree

_MOST_ORDERED = 50  # classes; the best order of more takes too long to find


def route_similarity(rows: np.ndarray) -> np.ndarray:
    """Measure for each two groups of rows how much of their routes they share.

    A group's route is the distribution of its rows over the nodes. Pair the rows of two
    groups so that they stay together as long as they can: of the nodes below the root
    that they pass, this is the fraction that the two of a pair pass together. It is
    Bray and Curtis's similarity of the two distributions, and 1 less their
    tree-Wasserstein distance over the mean length of their paths.

    Source: the class routes of Zantedeschi, Kusner and Niculae, "Learning Binary
    Decision Trees by Argmin Differentiation", arXiv:2010.04627, which are looked at,
    not measured, there.

    Parameters
    ----------
    rows : int array of shape (n_groups, n_nodes)
        As ``rows_passing`` counts them; each group has a row.

    Returns
    -------
    float array of shape (n_groups, n_groups)
        In [0, 1], symmetric: 1 where both fill each leaf alike, 0 where no row of the
        one passes a node of the other but the root.
    """
    fraction = rows / rows[:, :1]
    if rows.shape[1] == 1:  # nothing but the root, where all are together
        return np.ones((len(rows), len(rows)))
    return 1 - squareform(pdist(fraction[:, 1:], "braycurtis"))


@dataclass(frozen=True)
class RouteSimilarity:
    """How alike the routes of several classes are.

    Attributes
    ----------
    names : tuple of str
        Of the classes.
    similarity : float array of shape (n_classes, n_classes)
        As ``route_similarity`` measures it.
    linkage : float array of shape (n_classes - 1, 4)
        Their hierarchy by average linkage of 1 - similarity, as scipy writes it.
    """

    names: tuple[str, ...]
    similarity: np.ndarray
    linkage: np.ndarray

    @property
    def order(self) -> np.ndarray:
        """Places of the classes, int (n_classes,), those with alike routes together."""
        return leaves_list(self.linkage)

    def brackets(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the dendrogram as lines, one bracket around each two that are joined.

        Returns
        -------
        place, similarity : float arrays of shape (n_classes - 1, 4)
            Corners of each bracket: places from 0 in the order of ``order``, and mean
            similarities, 1 at a class itself.
        """
        drawn = dendrogram(self.linkage, no_plot=True)
        # scipy puts the leaves at 5, 15, 25, ... and its heights are 1 - similarity.
        return (np.array(drawn["icoord"]) - 5) / 10, 1 - np.array(drawn["dcoord"])

    @property
    def most_alike(self) -> tuple[int, int]:
        """Places of the two classes whose routes are most alike."""
        return self._pair(np.argmax)

    @property
    def least_alike(self) -> tuple[int, int]:
        """Places of the two classes whose routes are least alike."""
        return self._pair(np.argmin)

    def _pair(self, best) -> tuple[int, int]:
        """The pair of classes whose similarity is best, the first among equals."""
        first, second = np.triu_indices(len(self.names), 1)
        place = int(best(self.similarity[first, second]))
        return int(first[place]), int(second[place])


def compare_routes(names: Sequence[str], rows: np.ndarray) -> RouteSimilarity:
    """Compare the routes of at least two classes, and join those that are alike.

    Parameters
    ----------
    names : sequence of str of length n_classes
    rows : int array of shape (n_classes, n_nodes)
        As ``rows_passing`` counts them; each class has a row.

    Raises
    ------
    ValueError
        If there are fewer than two classes, or one has no row.
    """
    if len(names) < 2 or not rows[:, 0].all():
        raise ValueError("Routes are compared of two or more classes that have rows.")
    similarity = route_similarity(rows)
    distance = squareform(1 - similarity, checks=False)
    joined = linkage(distance, "average", optimal_ordering=len(names) <= _MOST_ORDERED)
    return RouteSimilarity(tuple(names), similarity, joined)


def parting_split(
    tree: Tree, first: np.ndarray, second: np.ndarray
) -> tuple[int, float]:
    """Find the split at which most rows of two groups part.

    Parameters
    ----------
    tree : Tree
        With at least one split.
    first, second : int array of shape (n_nodes,)
        Rows of each group that pass each node.

    Returns
    -------
    node : int
        The split, the nearest to the root among equals.
    fraction : float
        Of the pairs of ``route_similarity``, those that part there.
    """
    together = np.minimum(first / first[0], second / second[0])
    parted = np.where(tree.is_leaf, 0.0, together)
    np.subtract.at(parted, tree.parent[1:], together[1:])
    node = min(
        np.flatnonzero(~tree.is_leaf),
        key=lambda split: (-round(float(parted[split]), 12), tree.level[split]),
    )
    return int(node), float(parted[node])
