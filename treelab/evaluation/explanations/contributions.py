"""How much each column moves a tree's prediction for one row away from its mean.

Two ways: along the path (Saabas, "Interpreting random forests", 2014), each split
moving the mean of the rows that reach it to that of the rows on the row's side; and
Shapley values of the columns (Lundberg et al., "From local explanations to global
understanding with explainable AI for trees", Nature Machine Intelligence 2, 2020), by
the rows that the tree was fitted to, which do not depend on the order of the splits.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from treelab.trees.text.cells import sum_name
from treelab.trees.tree import Tree
from treelab.trees.walk import OBLIQUE, sum_up

LINEAR_LEAF = "linear model of the leaf"


@dataclass(frozen=True)
class Contributions:
    """What moves one prediction from the mean prediction to where it is.

    Attributes
    ----------
    base : float
        Mean prediction over the rows that the tree was fitted to.
    changes : dict of str to float
        By column; largest absolute change first. Along a path each weighted sum
        counts by itself, and so does a leaf's linear model.
    """

    base: float
    changes: dict[str, float]

    @property
    def prediction(self) -> float:
        """Base and all changes together."""
        return self.base + sum(self.changes.values())


def path_contributions(tree: Tree, row, output: int = 0) -> Contributions:
    """Return what each split on a row's path changes, added up by column (Saabas).

    Parameters
    ----------
    tree : Tree
        With rows.
    row : DataFrame or array of one row
    output : int, default=0
        Which class's probability, in the order of ``classes``; 0 for regression.
    """
    means = node_means(tree)[:, output]
    path = tree.path(row)
    changes: dict[str, float] = {}
    for node, below in pairwise(path):
        name = split_name(tree, node)
        changes[name] = changes.get(name, 0.0) + float(means[below] - means[node])
    if tree.leaf_weights is not None and tree.leaf_weights[path[-1]].any():
        changes[LINEAR_LEAF] = float(tree.predict(row)[0] - means[path[-1]])
    return ranked(float(means[0]), changes)


def shapley_contributions(tree: Tree, row, output: int = 0) -> Contributions:
    """Return the exact Shapley value of each column for one row (TreeSHAP).

    The value of a set of columns is the tree's mean prediction where the row is
    followed at splits of these columns, and at others all branches are taken, weighted
    by their rows (path-dependent).

    Parameters
    ----------
    tree : Tree
        With rows and constant leaves, each split testing one feature.
    row : DataFrame or array of one row
    output : int, default=0
        As in ``path_contributions``.

    Raises
    ------
    ValueError
        If the tree has weighted sums or linear leaves.
    """
    if not has_shapley(tree):
        raise ValueError("Shapley values need splits on one column, constant leaves.")
    from shap import TreeExplainer  # takes seconds to load

    columns = tree.columns
    place = {column: k for k, column in enumerate(columns)}
    split = ~tree.is_leaf
    own = [place[tree.features[j].column] for j in tree.feature[split]]
    feature = np.full(tree.n_nodes, -2)
    feature[split] = own
    # The library compares numbers. So that categories, missing values and several
    # features of one column count as this tree counts them, the row is all zeros and
    # each threshold stands on the side that the row takes.
    left = np.nan_to_num(tree.margin(row)[0], nan=-1.0, posinf=1.0, neginf=-1.0) >= 0
    arrays = {
        "children_left": tree.left,
        "children_right": tree.right,
        "children_default": tree.right,
        "feature": feature,
        "threshold": np.where(left, 0.5, -0.5),
        "value": node_means(tree)[:, [output]],
        "node_sample_weight": _rows(tree),
    }
    explainer = TreeExplainer({"trees": [arrays]})
    zeros = np.zeros((1, max(len(columns), 1)))
    values = explainer.shap_values(zeros, check_additivity=False)
    changes = dict(zip(columns, np.ravel(values).tolist()))
    return ranked(float(arrays["value"][0, 0]), changes)


def has_shapley(tree: Tree) -> bool:
    """Whether ``shapley_contributions`` takes this tree."""
    return tree.leaf_weights is None and not (tree.feature == OBLIQUE).any()


def split_name(tree: Tree, node: int) -> str:
    """Return the column of a split, or those that matter most in its weighted sum."""
    if tree.feature[node] != OBLIQUE:
        return tree.features[tree.feature[node]].column
    return f"sum of {sum_name(tree, node)}"


def node_means(tree: Tree) -> np.ndarray:
    """Mean prediction of the rows that pass each node, (n_nodes, n_outputs)."""
    rows = _rows(tree)[:, None]
    return sum_up(tree, np.where(tree.is_leaf[:, None], tree.value * rows, 0)) / rows


def _rows(tree: Tree) -> np.ndarray:
    """Rows that pass each node; a leaf without any counts as next to none."""
    return sum_up(tree, np.where(tree.is_leaf, np.maximum(tree.n_rows, 1e-9), 0.0))


def ranked(base: float, changes: dict[str, float]) -> Contributions:
    """Return contributions, the largest change first; those of 0 are left out."""
    order = sorted(changes, key=lambda name: -abs(changes[name]))
    return Contributions(base, {name: changes[name] for name in order if changes[name]})
