"""Names of nodes in a log: the way from the root, as "LRL"; the root is ""."""

from treelab.trees.tree import Tree

SIDES = "LR"


def paths(tree: Tree) -> list[str]:
    """Return each node's path from the root."""
    found = [""] * tree.n_nodes
    for node in tree.splits:
        for side, child in zip(SIDES, (tree.left[node], tree.right[node])):
            found[child] = found[node] + side
    return found


def node_of(tree: Tree, path: str) -> int:
    """Return the node that a path leads to.

    ValueError if the tree has none there.
    """
    node = 0
    for side in path:
        if tree.left[node] < 0:
            raise ValueError(f"The tree has no node {path!r}: it ends before that.")
        node = int(tree.left[node] if side == SIDES[0] else tree.right[node])
    return node


def place_words(path: str) -> str:
    """Return a path in words: "the root", or "LR"."""
    return path or "the root"


def path_of_key(key: str) -> str:
    """Return the path of a node that the viewer calls by 0 (left) and 1."""
    return key.translate(str.maketrans("01", SIDES))
