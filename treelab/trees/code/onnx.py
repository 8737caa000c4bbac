"""Trees and ensembles as ONNX."""

from typing import Any

import numpy as np

from treelab.trees.code.writer import (
    Exported,
    as_written,
    heading,
    inputs,
    scores_of,
    source_of,
)
from treelab.trees.feature import Feature
from treelab.trees.logits import FAR_BEHIND
from treelab.trees.tree import AXIS, OBLIQUE, Tree, as_matrix

# An ONNX graph under construction: its operators, constants and columns.


_OPSETS, _IR = {"": 17, "ai.onnx.ml": 2}, 8
_NEEDED = (
    "ONNX needs the package onnx. Install it with pip install onnx, or treelab with "
    'pip install ".[onnx]".'
)


class Graph:
    """Collects the operators and constants of a model.

    ImportError without the package onnx, ValueError if the model reads no column, or
    one column as numbers and as text.
    """

    def __init__(self, model: Any):
        try:
            import onnx
        except ImportError as error:
            raise ImportError(_NEEDED) from error
        self.onnx, self.types = onnx, onnx.TensorProto
        self.model, self.read = model, inputs(model)
        read = self.read
        names = [source.column for source in read]
        if not read or len(set(names)) < len(names):
            raise ValueError(
                "ONNX needs a column to read, and each as numbers or as text; this "
                f"model reads {names}."
            )
        self.columns = set(names)
        self.prefix = "_"  # of all names that are not columns
        while any(column.startswith(self.prefix) for column in self.columns):
            self.prefix += "_"
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def outputs(self) -> list:
        """Add everything from the columns to the outputs."""
        raise NotImplementedError

    def finish(self) -> bytes:
        """Return the whole as an ONNX file, after onnx's own checks."""
        helper, outputs = self.onnx.helper, self.outputs()
        kinds = {"number": self.types.DOUBLE, "category": self.types.STRING}
        graph = helper.make_graph(
            self.nodes,
            "tree",
            [
                helper.make_tensor_value_info(s.column, kinds[s.kind], ["rows", 1])
                for s in self.read
            ],
            outputs,
            self.constants,
            doc_string="\n".join(heading(self.model, self.read)),
        )
        opsets = [
            helper.make_opsetid(domain, version) for domain, version in _OPSETS.items()
        ]
        model = helper.make_model(
            graph, producer_name="treelab", opset_imports=opsets, ir_version=_IR
        )
        self.onnx.checker.check_model(model)
        return model.SerializeToString()

    def add(
        self, operator: str, *read: str, domain: str = "", n_spare=0, **attributes
    ) -> str:
        """Add an operator; return the name of the first thing that it computes."""
        name = f"{self.prefix}{operator}_{len(self.nodes)}"
        names = [name, *(f"{name}_{k}" for k in range(n_spare))]
        make = self.onnx.helper.make_node
        self.nodes.append(make(operator, read, names, domain=domain, **attributes))
        return name

    def constant(self, array) -> str:
        """Add a constant; return its name."""
        array = np.ascontiguousarray(array)
        name = f"{self.prefix}constant_{len(self.constants)}"
        if array.dtype.kind in "OU":
            texts: Any = [str(value) for value in array]
            tensor = self.onnx.helper.make_tensor(name, 8, array.shape, texts)
        else:
            tensor = self.onnx.numpy_helper.from_array(array, name)
        self.constants.append(tensor)
        return name

    def feature(self, j: int) -> str:
        """Read one feature, (rows, 1); NaN where it is missing."""
        feature = self.model.features[j]
        if source_of(feature).kind == "number":
            return self._number(feature)
        if "" in feature.categories:
            raise ValueError(
                f"Column {feature.column!r} has a category without letters, which in "
                "ONNX is a missing value. Rename it in the table."
            )
        scored = scores_of(feature) | {"": np.nan}
        code = self.add(
            "LabelEncoder",
            feature.column,
            domain="ai.onnx.ml",
            keys_strings=[*scored],
            values_int64s=[*range(len(scored))],
            default_int64=len(scored),
        )
        scores = self.constant(np.array([*scored.values(), feature.unseen]))
        return self.add("Gather", scores, code)

    def _number(self, feature: Feature) -> str:
        """Read a number, NaN where it lies in the range that counts as missing."""
        if feature.missing_interval is None:
            return feature.column
        low, high, missing = (
            self.constant([value]) for value in (*feature.missing_interval, np.nan)
        )
        above = self.add("GreaterOrEqual", feature.column, low)
        below = self.add("LessOrEqual", feature.column, high)
        inside = self.add("And", above, below)
        return self.add("Where", inside, missing, feature.column)

    def shape(self, x: dict[int, str], columns: int) -> str:
        """Return the shape (rows, columns)."""
        rows = self.add("Shape", next(iter(x.values())), start=0, end=1)
        return self.add("Concat", rows, self.constant([columns]), axis=0)

    def zeros(self, x: dict[int, str], columns: int, kind: type = np.float64) -> str:
        """Return zeros, (rows, columns)."""
        nothing = self.onnx.numpy_helper.from_array(np.zeros(1, dtype=kind))
        return self.add("ConstantOfShape", self.shape(x, columns), value=nothing)

    def classes(self, classes: tuple, value: str, best: str | None = None) -> list:
        """Turn probabilities (rows, n_classes) into the outputs of a classifier.

        ``best`` are the places (rows,) of the predicted classes; None: the most
        probable ones.
        """
        whole = all(type(label) is int for label in classes)
        kind = self.types.INT64 if whole else self.types.STRING
        labels = np.array(classes if whole else [*map(str, classes)])
        best = best or self.add("ArgMax", value, axis=1, keepdims=0)
        label = self.add("Gather", self.constant(labels), best)
        shape = ["rows", len(classes)]
        return [
            self.output("label", label, kind, ["rows"]),
            self.output("probabilities", value, self.types.DOUBLE, shape),
        ]

    def output(self, name: str, value: str, kind: int, shape: list):
        """Give an output its name, with an underscore where a column has it."""
        while name in self.columns:
            name += "_"
        helper = self.onnx.helper
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        return helper.make_tensor_value_info(name, kind, shape)


# An ensemble as an ONNX graph of plain operators; NaN and "" are missing values.


class _Ensemble(Graph):
    """The operators of an ensemble; all arrays between are (rows, E)."""

    def outputs(self) -> list:
        model = self.model
        leaf = self._leaves()
        weight = self._weights(self._at(model.leaf_weight, leaf))
        axis = self.constant([1])
        sums = []
        for value in np.moveaxis(model.leaf_value, 2, 0):
            product = self.add("Mul", weight, self._at(value, leaf))
            sums.append(self.add("ReduceSum", product, axis, keepdims=1))
        total = self.add("ReduceSum", weight, axis, keepdims=1)
        mean = self.add("Div", self.add("Concat", *sums, axis=1), total)
        if model.classes is None:
            return [self.output("value", mean, self.types.DOUBLE, ["rows", 1])]
        if model.leaf_output == "logits":
            if model.leaf_value.shape[2] == 1:  # the second class against the first
                first = self.add("Sub", mean, mean)
                mean = self.add("Concat", first, mean, axis=1)
            mean = self.add("Softmax", mean, axis=1)
        best = None
        if model.class_weights is not None:
            votes = self.add(
                "MatMul", mean, self.constant(as_matrix(model.class_weights))
            )
            best = self.add("ArgMax", votes, axis=1, keepdims=0)
        return self.classes(model.classes, mean, best)

    def _at(self, array: np.ndarray, place: str) -> str:
        """Look numbers up, an array of all trees' splits or leaves laid end to end."""
        return self.add("Gather", self.constant(array.ravel()), place)

    def _leaves(self) -> str:
        """Walk every row down every tree, to its leaf's place among all leaves."""
        model = self.model
        n_splits = model.n_leaves - 1
        x = {int(j): self.feature(int(j)) for j in model.read}
        matrix = self.add("Concat", *x.values(), axis=1)
        column = np.searchsorted(np.array(list(x)), model.feature)
        tree = np.arange(model.n_estimators)[None]
        first = self.constant(tree * n_splits)
        one, two = (self.constant([k]) for k in (1, 2))
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
        return self._entmax(self.add("Mul", below, self.constant([0.5])))

    def _limited(self, scores: str) -> str:
        """Make all but the highest scores so low that they weigh nothing."""
        count = self.constant([self.model.n_deciding])
        highest = self.add("TopK", scores, count, axis=1, n_spare=1)
        last = self.add("ReduceMin", highest, axes=[1], keepdims=1)
        too_low = self.add("Less", scores, last)
        return self.add("Where", too_low, self.constant([FAR_BEHIND]), scores)

    def _entmax(self, below: str) -> str:
        """Return the 1.5-entmax of halved scores, the largest 0 (arXiv:1905.05702).

        Algorithm 2 of the paper: of the k largest, mean and spread settle the
        threshold, where k is the number of those at or above their own threshold.
        """
        n = self.model.n_estimators
        low, nothing = self.constant([-1.0]), self.constant([0.0])
        below = self.add("Max", below, low)  # what lies lower has no weight
        largest = self.add("TopK", below, self.constant([n]), axis=1, n_spare=1)
        axis = self.constant(1)
        count = self.constant(np.arange(1.0, n + 1)[None])
        square = self.add("Mul", largest, largest)
        mean = self.add("Div", self.add("CumSum", largest, axis), count)
        squares = self.add("Div", self.add("CumSum", square, axis), count)
        variance = self.add("Sub", squares, self.add("Mul", mean, mean))
        share = self.constant(1 / np.arange(1.0, n + 1)[None])
        room = self.add("Max", self.add("Sub", share, variance), nothing)
        threshold = self.add("Sub", mean, self.add("Sqrt", room))
        holds = self.add("LessOrEqual", threshold, largest)
        holds = self.add("Cast", holds, to=self.types.INT64)
        held = self.add("ReduceSum", holds, self.constant([1]), keepdims=1)
        last = self.add("Sub", held, self.constant([1]))
        chosen = self.add("GatherElements", threshold, last, axis=1)
        root = self.add("Max", self.add("Sub", below, chosen), nothing)
        return self.add("Mul", root, root)


# A tree as an ONNX graph of plain operators; NaN and "" are missing values.


def to_onnx(tree: Exported) -> bytes:
    """Write a tree, or an ensemble, as an ONNX model.

    Parameters
    ----------
    tree : Tree, WeightedTrees, PruningPath or Forest

    Returns
    -------
    bytes
        A model with one input a column, (n_rows, 1): double, NaN where it is missing,
        or text, "" where it is missing. For classes its outputs are ``label``
        (n_rows,), whole numbers where all labels are, else text, and
        ``probabilities`` (n_rows, n_classes), as in ``tree.classes``; for regression
        ``value`` (n_rows, 1), or a column for each of several outputs. These are
        double, equal to what the tree predicts to the last bit (of an ensemble up to
        about 1e-15 of their size), and NaN where it raises ValueError because nothing
        stands for a missing value.

    Raises
    ------
    ImportError
        If the package onnx is not installed.
    ValueError
        If the tree reads no column, one column as numbers and as text, or a category
        that is no text at all.
    """
    model = as_written(tree)
    return (_Tree if isinstance(model, Tree) else _Ensemble)(model).finish()


class _Tree(Graph):
    """The operators of one tree."""

    def outputs(self) -> list:
        x = {int(j): self.feature(int(j)) for j in self.model.read}
        node, unknown = self._leaf(x)
        return self._outputs(node, unknown, x)

    def _filled(self, x: dict[int, str], j: int) -> str:
        """Put the feature's fill in place of missing values, (rows, 1)."""
        fill = self.model.features[j].fill
        if np.isnan(fill):
            return x[j]
        return self.add("Where", self.add("IsNaN", x[j]), self.constant([fill]), x[j])

    def _sum(self, x: dict[int, str], total: str, weights: np.ndarray, at=None) -> str:
        """Add weighted features to ``total`` (rows, k), one after the other.

        ``weights`` is (k, n_features), or of every node, of which ``at`` (rows, 1)
        names one a row. So a sum has the last bit that the tree's has.
        """
        read = np.flatnonzero((weights != 0).any(axis=0)).tolist()
        nothing = self.constant([0.0]) if read else ""
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
        tree = self.model
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
            zero = self.add("Mul", self.zeros(x, 1), self.constant([0.0]))
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
            if np.isnan(self.model.features[j].fill):
                read = self.constant(weights[None, :, j] != 0)
                here = self.add("And", self.add("IsNaN", x[j]), read)
                lacking = self.add("Or", lacking, here) if lacking else here
        return lacking

    def _leaf(self, x: dict[int, str]) -> tuple[str, str | None]:
        """Walk every row to its leaf, (rows, 1); and whether it is unknown."""
        tree = self.model
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
        tree = self.model
        best = None
        if tree.leaf_weights is not None and tree.leaf_bias is not None:
            value = self.add("Gather", self.constant(tree.leaf_bias[:, 0]), node)
            leaves = tree.leaf_weights * tree.is_leaf[:, None]
            value = self._sum(x, value, leaves, node)
        else:
            flat = self.add("Squeeze", node, self.constant([1]))
            value = self.add("Gather", self.constant(tree.value), flat)
            if tree.decision is not None:
                chosen = self.constant(tree.predicted_class)
                best = self.add("Gather", chosen, flat)
        if unknown is not None:
            nothing = self.constant([np.nan])
            value = self.add("Where", unknown, nothing, value)
        if tree.classes is None:
            shape = ["rows", tree.value.shape[1]]
            return [self.output("value", value, self.types.DOUBLE, shape)]
        return self.classes(tree.classes, value, best)
