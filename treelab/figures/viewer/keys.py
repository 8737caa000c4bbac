"""Names of nodes that stay while a tree changes: the path from the root."""

from treelab.trees.tree import Tree


def keys(tree: Tree) -> list[str]:
    """Return each node's path from the root: "0" is left, "1" right, the root "".

    A node that stays where it is keeps its key while the tree around it changes.
    """
    found = [""] * tree.n_nodes
    waiting = [0]
    while waiting:
        node = waiting.pop()
        if tree.left[node] >= 0:
            for side, child in (("0", tree.left[node]), ("1", tree.right[node])):
                found[child] = found[node] + side
                waiting.append(int(child))
    return found


def node_at(tree: Tree, key: str) -> int | None:
    """Return the node that a key leads to; None where the tree has none there."""
    node = 0
    for side in key:
        if side not in "01" or tree.left[node] < 0:
            return None
        node = int(tree.left[node] if side == "0" else tree.right[node])
    return node
