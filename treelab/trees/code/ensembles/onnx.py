"""An ensemble as an ONNX graph of plain operators; NaN and "" are missing values."""

import numpy as np

from treelab.trees.code.ensembles.heading import ensemble_heading
from treelab.trees.code.onnx_graph import Graph
from treelab.trees.code.splits import inputs
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.logits import FAR_BEHIND


def ensemble_to_onnx(model: WeightedTrees) -> bytes:
    """Write an ensemble as ``to_onnx`` writes a tree.

    Its probabilities and values are those of ``model`` up to rounding, about 1e-15 of
    their size: a sum over trees is added up in another order.
    """
    graph = _Ensemble(model)
    return graph.finish(graph.outputs(), ensemble_heading(model))


class _Ensemble(Graph):
    """The operators of an ensemble; all arrays between are (rows, E)."""

    def __init__(self, model: WeightedTrees):
        super().__init__(model.features, inputs(model))
        self.model = model

    def outputs(self) -> list:
        """Add everything from the columns to the outputs."""
        from onnx import TensorProto

        model = self.model
        leaf = self._leaves()
        weight = self._weights(self._at(model.leaf_weight, leaf))
        axis = self.constant(np.array([1]))
        sums = []
        for value in np.moveaxis(model.leaf_value, 2, 0):
            product = self.add("Mul", weight, self._at(value, leaf))
            sums.append(self.add("ReduceSum", product, axis, keepdims=1))
        total = self.add("ReduceSum", weight, axis, keepdims=1)
        mean = self.add("Div", self.add("Concat", *sums, axis=1), total)
        if model.classes is None:
            return [self.output("value", mean, TensorProto.DOUBLE, ["rows", 1])]
        if model.leaf_output == "logits":
            if model.leaf_value.shape[2] == 1:  # the second class against the first
                first = self.add("Sub", mean, mean)
                mean = self.add("Concat", first, mean, axis=1)
            mean = self.add("Softmax", mean, axis=1)
        best = None
        if model.class_weights is not None:
            weights = self.constant(model.class_weights)
            best = self.add(
                "ArgMax", self.add("Mul", mean, weights), axis=1, keepdims=0
            )
        return self.classes(model.classes, mean, best)

    def _at(self, array: np.ndarray, place: str) -> str:
        """Look numbers up, an array of all trees' splits or leaves laid end to end."""
        return self.add("Gather", self.constant(array.ravel()), place)

    def _leaves(self) -> str:
        """Walk every row down every tree, to its leaf's place among all leaves."""
        model = self.model
        n_splits = model.n_leaves - 1
        x = {int(j): self.feature(int(j)) for j in np.unique(model.feature)}
        matrix = self.add("Concat", *x.values(), axis=1)
        column = np.searchsorted(np.array(list(x)), model.feature)
        tree = np.arange(model.n_estimators)[None]
        first = self.constant(tree * n_splits)
        one, two = (self.constant(np.array([k])) for k in (1, 2))
        node = self.zeros(x, model.n_estimators, np.int64)
        for _ in range(model.depth):
            split = self.add("Add", first, node)
            tested = self.add("GatherElements", matrix, self._at(column, split), axis=1)
            # A comparison with NaN is false.
            left = self.add("LessOrEqual", tested, self._at(model.threshold, split))
            missing = self.add("IsNaN", tested)
            stays = self.add("And", missing, self._at(model.missing_left, split))
            goes = self.add("Or", left, stays)
            node = self.add("Add", node, node)
            node = self.add("Add", node, self.add("Where", goes, one, two))
        return self.add("Add", node, self.constant(tree * model.n_leaves - n_splits))

    def _weights(self, scores: str) -> str:
        """Turn the leaves' weights into the trees', up to a factor a row."""
        if self.model.n_deciding < self.model.n_estimators:
            scores = self._limited(scores)
        top = self.add("ReduceMax", scores, axes=[1], keepdims=1)
        below = self.add("Sub", scores, top)
        if self.model.weighting == "softmax":
            return self.add("Exp", below)
        return self._entmax(self.add("Mul", below, self.constant(np.array([0.5]))))

    def _limited(self, scores: str) -> str:
        """Make all but the highest scores so low that they weigh nothing."""
        count = self.constant(np.array([self.model.n_deciding]))
        highest = self.add("TopK", scores, count, axis=1, n_spare=1)
        last = self.add("ReduceMin", highest, axes=[1], keepdims=1)
        too_low = self.add("Less", scores, last)
        return self.add("Where", too_low, self.constant(np.array([FAR_BEHIND])), scores)

    def _entmax(self, below: str) -> str:
        """Return the 1.5-entmax of halved scores, the largest 0 (arXiv:1905.05702).

        Algorithm 2 of the paper: of the k largest, mean and spread settle the
        threshold, where k is the number of those at or above their own threshold.
        """
        from onnx import TensorProto

        n = self.model.n_estimators
        low, nothing = self.constant(np.array([-1.0])), self.constant(np.array([0.0]))
        below = self.add("Max", below, low)  # what lies lower has no weight
        largest = self.add(
            "TopK", below, self.constant(np.array([n])), axis=1, n_spare=1
        )
        axis = self.constant(np.array(1))
        count = self.constant(np.arange(1.0, n + 1)[None])
        square = self.add("Mul", largest, largest)
        mean = self.add("Div", self.add("CumSum", largest, axis), count)
        squares = self.add("Div", self.add("CumSum", square, axis), count)
        variance = self.add("Sub", squares, self.add("Mul", mean, mean))
        share = self.constant(1 / np.arange(1.0, n + 1)[None])
        room = self.add("Max", self.add("Sub", share, variance), nothing)
        threshold = self.add("Sub", mean, self.add("Sqrt", room))
        holds = self.add("LessOrEqual", threshold, largest)
        holds = self.add("Cast", holds, to=TensorProto.INT64)
        held = self.add("ReduceSum", holds, self.constant(np.array([1])), keepdims=1)
        last = self.add("Sub", held, self.constant(np.array([1])))
        chosen = self.add("GatherElements", threshold, last, axis=1)
        root = self.add("Max", self.add("Sub", below, chosen), nothing)
        return self.add("Mul", root, root)
