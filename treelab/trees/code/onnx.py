"""A tree as an ONNX graph of plain operators; NaN and "" are missing values."""

from typing import Any

import numpy as np

from treelab.trees.code.names import heading
from treelab.trees.code.splits import Input, inputs, source_of
from treelab.trees.tree import Tree
from treelab.trees.walk import AXIS, OBLIQUE, used_features

_OPSET, _ML_OPSET, _IR = 17, 2, 8
_NEEDED = (
    "ONNX needs the package onnx. Install it with pip install onnx, or treelab with "
    'pip install ".[onnx]".'
)


def to_onnx(tree: Tree) -> bytes:
    """Write a tree as an ONNX model.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    bytes
        A model with one input a column, (n_rows, 1): double, NaN where it is missing,
        or text, "" where it is missing. For classes its outputs are ``label``
        (n_rows,), whole numbers where all labels are, else text, and
        ``probabilities`` (n_rows, n_classes), as in ``tree.classes``; for regression
        ``value`` (n_rows, 1). These are double, equal to what the tree predicts to
        the last bit, and NaN where it raises ValueError because nothing stands for a
        missing value.

    Raises
    ------
    ImportError
        If the package onnx is not installed.
    ValueError
        If the tree reads no column, one column as numbers and as text, or a category
        that is no text at all.
    """
    try:
        from onnx import checker
    except ImportError as error:
        raise ImportError(_NEEDED) from error
    read = inputs(tree)
    names = [source.column for source in read]
    if not read or len(set(names)) < len(names):
        raise ValueError(
            "ONNX needs a column to read, and each as numbers or as text; this tree "
            f"reads {names}."
        )
    model = _Graph(tree, read).model()
    checker.check_model(model)
    return model.SerializeToString()


class _Graph:
    """Collects the operators and constants of one tree."""

    def __init__(self, tree: Tree, read: list[Input]):
        self.tree, self.read = tree, read
        self.columns = {source.column for source in read}
        self.prefix = "_"  # of all names that are not columns
        while any(column.startswith(self.prefix) for column in self.columns):
            self.prefix += "_"
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def model(self):
        """Return the whole as onnx's ModelProto."""
        from onnx import TensorProto, helper

        x = {
            int(j): self._feature(int(j)) for j in used_features(self.tree, leaves=True)
        }
        node, unknown = self._leaf(x)
        outputs = self._outputs(node, unknown, x)
        kinds = {"number": TensorProto.DOUBLE, "category": TensorProto.STRING}
        graph = helper.make_graph(
            self.nodes,
            "tree",
            [
                helper.make_tensor_value_info(s.column, kinds[s.kind], ["rows", 1])
                for s in self.read
            ],
            outputs,
            self.constants,
            doc_string="\n".join(heading(self.tree, self.read)),
        )
        opsets = [
            helper.make_opsetid("", _OPSET),
            helper.make_opsetid("ai.onnx.ml", _ML_OPSET),
        ]
        return helper.make_model(
            graph, producer_name="treelab", opset_imports=opsets, ir_version=_IR
        )

    def _add(self, operator: str, *read: str, domain: str = "", **attributes) -> str:
        """Add an operator; return the name of what it computes."""
        from onnx import helper

        name = f"{self.prefix}{operator}_{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(operator, read, [name], domain=domain, **attributes)
        )
        return name

    def _constant(self, array) -> str:
        """Add a constant; return its name."""
        from onnx import helper, numpy_helper

        array = np.asarray(array)
        name = f"{self.prefix}constant_{len(self.constants)}"
        if array.dtype.kind in "OU":
            texts: Any = [str(value) for value in array]
            tensor = helper.make_tensor(name, 8, array.shape, texts)
        else:
            tensor = numpy_helper.from_array(np.ascontiguousarray(array), name)
        self.constants.append(tensor)
        return name

    def _feature(self, j: int) -> str:
        """Read one feature, (rows, 1); NaN where it is missing."""
        feature = self.tree.features[j]
        if source_of(feature).kind == "number":
            return feature.column
        if "" in feature.categories:
            raise ValueError(
                f"Column {feature.column!r} has a category without letters, which in "
                "ONNX is a missing value. Rename it in the table."
            )
        n = len(feature.categories)
        code = self._add(
            "LabelEncoder",
            feature.column,
            domain="ai.onnx.ml",
            keys_strings=[*feature.categories, ""],
            values_int64s=[*range(n), n],
            default_int64=n + 1,
        )
        scores = self._constant(np.array([*feature.scores, np.nan, feature.unseen]))
        return self._add("Gather", scores, code)

    def _filled(self, x: dict[int, str], j: int) -> str:
        """Put the feature's fill in place of missing values, (rows, 1)."""
        fill = self.tree.features[j].fill
        if np.isnan(fill):
            return x[j]
        return self._add(
            "Where", self._add("IsNaN", x[j]), self._constant(np.array([fill])), x[j]
        )

    def _sum(self, x: dict[int, str], total: str, weights: np.ndarray, at=None) -> str:
        """Add weighted features to ``total`` (rows, k), one after the other.

        ``weights`` is (k, n_features), or of every node, of which ``at`` (rows, 1)
        names one a row. So a sum has the last bit that the tree's has.
        """
        read = np.flatnonzero((weights != 0).any(axis=0)).tolist()
        nothing = self._constant(np.zeros(1)) if read else ""
        for j in read:
            weight = self._constant(
                weights[None, :, j] if at is None else weights[:, j]
            )
            if at is not None:
                weight = self._add("Gather", weight, at)
            product = self._add("Mul", weight, self._filled(x, j))
            ignored = self._add("Equal", weight, nothing)  # be the value infinite
            total = self._add(
                "Add", total, self._add("Where", ignored, nothing, product)
            )
        return total

    def _sides(self, x: dict[int, str]) -> tuple[str, np.ndarray, str | None]:
        """Decide every split, (rows, n_splits): left, order, where it is unknown."""
        tree = self.tree
        axis = np.flatnonzero(tree.feature >= AXIS)
        oblique = np.flatnonzero(tree.feature == OBLIQUE)
        sides, unknown = [], None
        if len(axis):
            place = {j: i for i, j in enumerate(x)}
            matrix = self._add("Concat", *x.values(), axis=1)
            index = [place[j] for j in tree.feature[axis].tolist()]
            tested = self._add(
                "Gather", matrix, self._constant(np.array(index)), axis=1
            )
            left = self._add(
                "LessOrEqual", tested, self._constant(tree.threshold[None, axis])
            )
            missing_left = self._constant(tree.missing_left[None, axis])
            missing = self._add("IsNaN", tested)
            # A comparison with NaN is false.
            stays = self._add("And", missing, missing_left)
            sides.append(self._add("Or", left, stays))
        if len(oblique):
            assert tree.weights is not None  # as of every tree with an oblique split
            weights = tree.weights[oblique]
            zero = self._add("Mul", self._zero(x), self._constant(np.zeros(1)))
            total = self._sum(
                x, self._add("Expand", zero, self._shape(x, len(oblique))), weights
            )
            threshold = self._constant(tree.threshold[None, oblique])
            sides.append(self._add("LessOrEqual", total, threshold))
            unknown = self._add("IsNaN", total)
            if len(axis):  # sides of the others are always known
                none = self._constant(np.zeros((1, len(axis)), dtype=bool))
                none = self._add("Expand", none, self._shape(x, len(axis)))
                unknown = self._add("Concat", none, unknown, axis=1)
        side = sides[0] if len(sides) == 1 else self._add("Concat", *sides, axis=1)
        return side, np.concatenate([axis, oblique]), unknown

    def _shape(self, x: dict[int, str], columns: int) -> str:
        """Return the shape (rows, columns)."""
        rows = self._add("Shape", next(iter(x.values())), start=0, end=1)
        return self._add("Concat", rows, self._constant(np.array([columns])), axis=0)

    def _zero(self, x: dict[int, str]) -> str:
        """Return zeros, (rows, 1)."""
        from onnx import numpy_helper

        nothing = numpy_helper.from_array(np.zeros(1))
        return self._add("ConstantOfShape", self._shape(x, 1), value=nothing)

    def _leaf(self, x: dict[int, str]) -> tuple[str, str | None]:
        """Walk every row to its leaf, (rows, 1); and whether it is unknown."""
        from onnx import TensorProto, helper

        tree = self.tree
        root = helper.make_tensor("root", TensorProto.INT64, [1], [0])
        node = self._add("ConstantOfShape", self._shape(x, 1), value=root)
        if not tree.n_splits:
            return node, None
        side, order, missing = self._sides(x)
        place = np.zeros(tree.n_nodes, dtype=np.int64)
        place[order] = np.arange(len(order))
        own = np.arange(tree.n_nodes)  # a leaf leads to itself
        left, right = (
            self._constant(np.where(tree.is_leaf, own, child).astype(np.int64))
            for child in (tree.left, tree.right)
        )
        places = self._constant(place)
        is_split = "" if missing is None else self._constant(~tree.is_leaf)
        unknown = None
        for _ in range(tree.depth):
            at = self._add("Gather", places, node)
            if missing is not None:
                here = self._add("GatherElements", missing, at, axis=1)
                here = self._add("And", here, self._add("Gather", is_split, node))
                unknown = self._add("Or", unknown, here) if unknown else here
            goes = self._add("GatherElements", side, at, axis=1)
            ways = (self._add("Gather", child, node) for child in (left, right))
            node = self._add("Where", goes, *ways)
        return node, unknown

    def _outputs(self, node: str, unknown: str | None, x: dict[int, str]) -> list:
        """Turn leaves into the outputs."""
        from onnx import TensorProto

        tree = self.tree
        if tree.leaf_weights is not None and tree.leaf_bias is not None:
            value = self._add("Gather", self._constant(tree.leaf_bias[:, 0]), node)
            leaves = tree.leaf_weights * tree.is_leaf[:, None]
            value = self._sum(x, value, leaves, node)
        else:
            flat = self._add("Squeeze", node, self._constant(np.array([1])))
            value = self._add("Gather", self._constant(tree.value), flat)
        if unknown is not None:
            nothing = self._constant(np.array([np.nan]))
            value = self._add("Where", unknown, nothing, value)
        if tree.classes is None:
            return [self._output("value", value, TensorProto.DOUBLE, ["rows", 1])]
        whole = all(type(label) is int for label in tree.classes)
        kind = TensorProto.INT64 if whole else TensorProto.STRING
        labels = np.array(tree.classes if whole else [*map(str, tree.classes)])
        best = self._add("ArgMax", value, axis=1, keepdims=0)
        label = self._add("Gather", self._constant(labels), best)
        shape = ["rows", len(tree.classes)]
        return [
            self._output("label", label, kind, ["rows"]),
            self._output("probabilities", value, TensorProto.DOUBLE, shape),
        ]

    def _output(self, name: str, value: str, kind: int, shape: list):
        """Give an output its name, with an underscore where a column has it."""
        from onnx import helper

        while name in self.columns:
            name += "_"
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        return helper.make_tensor_value_info(name, kind, shape)
