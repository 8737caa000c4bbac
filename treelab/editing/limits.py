"""What a run's constraints leave open at a node of a tree that is edited."""

import numpy as np

from treelab.editing.paths import paths
from treelab.editing.rows import EditRows
from treelab.trees.constraints.constraints import Constraints
from treelab.trees.constraints.violations import wrong_splits
from treelab.trees.pruning.cut import cut_at
from treelab.trees.tree import Tree
from treelab.trees.walk import leaf_of, rows_through


def closed_columns(
    tree: Tree, path: str, constraints: Constraints, columns: frozenset[str]
) -> frozenset[str]:
    """Return the columns that a split at a path must not test, the others as they are.

    Parameters
    ----------
    tree : Tree
    path : str
        Of a node; letters L and R from the root.
    constraints : Constraints
    columns : frozenset of str
        All that splits may test.
    """
    open_ = constraints.allowed_at(len(path), [*columns]) & columns
    tested = {
        own: tree.features[j].column
        for own, j in zip(paths(tree), tree.feature.tolist())
        if j >= 0 and own != path
    }
    if constraints.max_columns is not None:
        used = frozenset(tested.values())
        if len(used) >= constraints.max_columns:
            open_ &= used
    if constraints.together:
        groups = constraints.group_of([*columns])
        above = frozenset(own for at, own in tested.items() if path.startswith(at))
        below = {at: own for at, own in tested.items() if at.startswith(path)}
        lines = [above] + [
            above | {own for at, own in below.items() if end.startswith(at)}
            for end in below
        ]
        for line in lines:  # the columns of a path, but for the node's own
            open_ &= frozenset().union(*(own for own in groups if line <= own))
    return columns - open_


def newly_broken(
    before: Tree, after: Tree, rows: EditRows, constraints: Constraints
) -> str:
    """Say what an edit would break that was kept before; "" where nothing.

    Values of leaves are put in order whenever they are fitted, so it is splits and rows
    that are looked at.

    Parameters
    ----------
    before, after : Tree
    rows : EditRows
        Training rows.
    constraints : Constraints
    """

    def wrong(tree: Tree) -> dict[str, str]:
        """Return the column of each split that is wrong where it stands, by path."""
        named = zip(paths(tree), tree.feature.tolist(), wrong_splits(tree, constraints))
        return {path: tree.features[j].column for path, j, bad in named if bad}

    def leaves(tree: Tree) -> dict[str, int]:
        """Count the training rows of each leaf, by its path."""
        passed = rows_through(tree, leaf_of(tree, rows.matrix(tree)))
        named = zip(paths(tree), passed.tolist(), tree.is_leaf)
        return {path: n_rows for path, n_rows, is_leaf in named if is_leaf}

    known_wrong = wrong(before).items()
    new = [own for own in wrong(after).items() if own not in known_wrong]
    if new:
        return f"{new[0][1]!r} may not be tested there."
    most = constraints.max_columns
    if most is not None and len(after.columns) > max(most, len(before.columns)):
        return f"The tree would test {len(after.columns)} columns, more than {most}."
    if (least := constraints.min_samples_leaf) == 1:
        return ""
    known = leaves(before)
    for path, n_rows in leaves(after).items():
        if n_rows < least and known.get(path) != n_rows:
            return f"A leaf would have {n_rows:,} training rows, fewer than {least:,}."
    return ""


def without_small_leaves(tree: Tree, least: int, held: np.ndarray) -> Tree:
    """Cut splits that part too few rows, but none that is held or above one that is.

    Parameters
    ----------
    tree : Tree
        With the training rows at its nodes, a prediction at each.
    least : int
        Fewest rows of a leaf.
    held : bool array of shape (n_nodes,)
    """
    cut, is_leaf = np.zeros(tree.n_nodes, dtype=bool), tree.is_leaf.copy()
    fixed = held.copy()
    for node in np.flatnonzero(held):
        fixed[tree.path_to(int(node))] = True
    for level in range(tree.depth, 0, -1):
        here = (tree.level == level) & is_leaf & (tree.n_rows < least)
        parents = np.unique(tree.parent[here])
        parents = parents[~fixed[parents]]
        cut[parents] = is_leaf[parents] = True
    return cut_at(tree, cut) if cut.any() else tree
