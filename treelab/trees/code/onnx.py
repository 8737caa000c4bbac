"""A tree as an ONNX graph of plain operators; NaN and "" are missing values."""

import numpy as np

from treelab.trees.code.ensembles.onnx import ensemble_to_onnx
from treelab.trees.code.names import heading
from treelab.trees.code.onnx_graph import Graph
from treelab.trees.code.splits import inputs
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.tree import Tree
from treelab.trees.walk import AXIS, OBLIQUE, used_features


def to_onnx(tree: Tree | WeightedTrees) -> bytes:
    """Write a tree, or an ensemble, as an ONNX model.

    Parameters
    ----------
    tree : Tree or WeightedTrees

    Returns
    -------
    bytes
        A model with one input a column, (n_rows, 1): double, NaN where it is missing,
        or text, "" where it is missing. For classes its outputs are ``label``
        (n_rows,), whole numbers where all labels are, else text, and
        ``probabilities`` (n_rows, n_classes), as in ``tree.classes``; for regression
        ``value`` (n_rows, 1). These are double, equal to what the tree predicts to
        the last bit (of an ensemble up to about 1e-15 of their size), and NaN where it
        raises ValueError because nothing stands for a missing value.

    Raises
    ------
    ImportError
        If the package onnx is not installed.
    ValueError
        If the tree reads no column, one column as numbers and as text, or a category
        that is no text at all.
    """
    if isinstance(tree, WeightedTrees):
        return ensemble_to_onnx(tree)
    graph = _Graph(tree)
    return graph.finish(graph.outputs(), heading(tree, graph.read))


class _Graph(Graph):
    """The operators of one tree."""

    def __init__(self, tree: Tree):
        super().__init__(tree.features, inputs(tree))
        self.tree = tree

    def outputs(self) -> list:
        """Add everything from the columns to the outputs."""
        used = used_features(self.tree, leaves=True)
        x = {int(j): self.feature(int(j)) for j in used}
        node, unknown = self._leaf(x)
        return self._outputs(node, unknown, x)

    def _filled(self, x: dict[int, str], j: int) -> str:
        """Put the feature's fill in place of missing values, (rows, 1)."""
        fill = self.tree.features[j].fill
        if np.isnan(fill):
            return x[j]
        return self.add(
            "Where", self.add("IsNaN", x[j]), self.constant(np.array([fill])), x[j]
        )

    def _sum(self, x: dict[int, str], total: str, weights: np.ndarray, at=None) -> str:
        """Add weighted features to ``total`` (rows, k), one after the other.

        ``weights`` is (k, n_features), or of every node, of which ``at`` (rows, 1)
        names one a row. So a sum has the last bit that the tree's has.
        """
        read = np.flatnonzero((weights != 0).any(axis=0)).tolist()
        nothing = self.constant(np.zeros(1)) if read else ""
        for j in read:
            weight = self.constant(weights[None, :, j] if at is None else weights[:, j])
            if at is not None:
                weight = self.add("Gather", weight, at)
            product = self.add("Mul", weight, self._filled(x, j))
            ignored = self.add("Equal", weight, nothing)  # be the value infinite
            total = self.add("Add", total, self.add("Where", ignored, nothing, product))
        return total

    def _sides(self, x: dict[int, str]) -> tuple[str, np.ndarray, str | None]:
        """Decide every split, (rows, n_splits): left, order, where it is unknown."""
        tree = self.tree
        axis = np.flatnonzero(tree.feature >= AXIS)
        oblique = np.flatnonzero(tree.feature == OBLIQUE)
        sides, unknown = [], None
        if len(axis):
            place = {j: i for i, j in enumerate(x)}
            matrix = self.add("Concat", *x.values(), axis=1)
            index = [place[j] for j in tree.feature[axis].tolist()]
            tested = self.add("Gather", matrix, self.constant(np.array(index)), axis=1)
            left = self.add(
                "LessOrEqual", tested, self.constant(tree.threshold[None, axis])
            )
            missing_left = self.constant(tree.missing_left[None, axis])
            missing = self.add("IsNaN", tested)
            # A comparison with NaN is false.
            stays = self.add("And", missing, missing_left)
            sides.append(self.add("Or", left, stays))
        if len(oblique):
            assert tree.weights is not None  # as of every tree with an oblique split
            weights = tree.weights[oblique]
            zero = self.add("Mul", self.zeros(x, 1), self.constant(np.zeros(1)))
            total = self._sum(
                x, self.add("Expand", zero, self.shape(x, len(oblique))), weights
            )
            threshold = self.constant(tree.threshold[None, oblique])
            sides.append(self.add("LessOrEqual", total, threshold))
            unknown = self._lacking(x, weights)
            if unknown is not None and len(axis):  # sides of others are always known
                none = self.constant(np.zeros((1, len(axis)), dtype=bool))
                none = self.add("Expand", none, self.shape(x, len(axis)))
                unknown = self.add("Concat", none, unknown, axis=1)
        side = sides[0] if len(sides) == 1 else self.add("Concat", *sides, axis=1)
        return side, np.concatenate([axis, oblique]), unknown

    def _lacking(self, x: dict[int, str], weights: np.ndarray) -> str | None:
        """Tell which sums lack a number that nothing stands for, (rows, k).

        A sum that is NaN need not: infinity minus infinity is compared as NaN is.
        """
        lacking = None
        for j in np.flatnonzero((weights != 0).any(axis=0)).tolist():
            if np.isnan(self.tree.features[j].fill):
                read = self.constant(weights[None, :, j] != 0)
                here = self.add("And", self.add("IsNaN", x[j]), read)
                lacking = self.add("Or", lacking, here) if lacking else here
        return lacking

    def _leaf(self, x: dict[int, str]) -> tuple[str, str | None]:
        """Walk every row to its leaf, (rows, 1); and whether it is unknown."""
        tree = self.tree
        node = self.zeros(x, 1, np.int64)
        if not tree.n_splits:
            return node, None
        side, order, missing = self._sides(x)
        place = np.zeros(tree.n_nodes, dtype=np.int64)
        place[order] = np.arange(len(order))
        own = np.arange(tree.n_nodes)  # a leaf leads to itself
        left, right = (
            self.constant(np.where(tree.is_leaf, own, child).astype(np.int64))
            for child in (tree.left, tree.right)
        )
        places = self.constant(place)
        is_split = "" if missing is None else self.constant(~tree.is_leaf)
        unknown = None
        for _ in range(tree.depth):
            at = self.add("Gather", places, node)
            if missing is not None:
                here = self.add("GatherElements", missing, at, axis=1)
                here = self.add("And", here, self.add("Gather", is_split, node))
                unknown = self.add("Or", unknown, here) if unknown else here
            goes = self.add("GatherElements", side, at, axis=1)
            ways = (self.add("Gather", child, node) for child in (left, right))
            node = self.add("Where", goes, *ways)
        return node, unknown

    def _outputs(self, node: str, unknown: str | None, x: dict[int, str]) -> list:
        """Turn leaves into the outputs."""
        from onnx import TensorProto

        tree = self.tree
        best = None
        if tree.leaf_weights is not None and tree.leaf_bias is not None:
            value = self.add("Gather", self.constant(tree.leaf_bias[:, 0]), node)
            leaves = tree.leaf_weights * tree.is_leaf[:, None]
            value = self._sum(x, value, leaves, node)
        else:
            flat = self.add("Squeeze", node, self.constant(np.array([1])))
            value = self.add("Gather", self.constant(tree.value), flat)
            if tree.decision is not None:
                chosen = self.constant(tree.predicted_class)
                best = self.add("Gather", chosen, flat)
        if unknown is not None:
            nothing = self.constant(np.array([np.nan]))
            value = self.add("Where", unknown, nothing, value)
        if tree.classes is None:
            return [self.output("value", value, TensorProto.DOUBLE, ["rows", 1])]
        return self.classes(tree.classes, value, best)
