"""Many trees of one run as small pictures, of which one at a time is drawn."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from treelab.figures.viewer.legend import class_entries, value_scale
from treelab.figures.viewer.payload import tree_payload
from treelab.figures.viewer.tree_writer import TreeWriter
from treelab.figures.viewer.wording import Wording
from treelab.trees.statistics import check_target
from treelab.trees.tree import Tree

MOST_LEAVES = 8  # that are drawn of a tree; of more, those below most rows
_WORDING = Wording(length=20, listed=3, left=1, terms=3)
# What only the tips of nodes say, which a small picture does not have.
_LEFT_OUT = ("impurity", "gain", "column", "left_categories", "threshold", "std")


def small_trees(
    trees: Sequence[Tree], *, split: str = "train", colors: Mapping | None = None
) -> dict:
    """Return a payload with all trees, each cut where few rows go.

    Unlike ``tree_payload`` it has no frames: who draws it takes one of ``trees``.

    Parameters
    ----------
    trees : sequence of Tree
        At least one; all of the same features and classes.
    split : {"train", "valid", "test", "train+valid"}, default="train"
        Which rows the trees' own counts are of.
    colors : mapping of label to hex colour, or None, default=None
        As in ``tree_payload``.
    """
    first = replace(trees[0], notes=())
    payload = tree_payload(first, split=split, colors=colors)
    _, fold = class_entries(first, check_target(first, 0, ()), colors)
    writers = [TreeWriter(tree, None, None, fold, None, {}) for tree in trees]
    written = [writer.nodes(2 * MOST_LEAVES - 1, _WORDING) for writer in writers]
    for node in (node for nodes in written for node in nodes):
        for name in _LEFT_OUT:
            node.pop(name, None)
    payload["trees"] = [{"nodes": nodes, "notes": []} for nodes in written]
    return payload | {"axis": {}, "scale": value_scale(trees)}
