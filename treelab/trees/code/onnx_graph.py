"""An ONNX graph under construction: its operators, constants and columns."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from treelab.trees.code.splits import Input, source_of
from treelab.trees.feature import Feature

_OPSET, _ML_OPSET, _IR = 17, 2, 8
_NEEDED = (
    "ONNX needs the package onnx. Install it with pip install onnx, or treelab with "
    'pip install ".[onnx]".'
)


class Graph:
    """Collects the operators and constants of a model.

    Parameters
    ----------
    features : sequence of Feature
        The model's.
    read : list of Input
        The columns that it reads.

    Raises
    ------
    ImportError
        If the package onnx is not installed.
    ValueError
        If it reads no column, or one column as numbers and as text.
    """

    def __init__(self, features: Sequence[Feature], read: list[Input]):
        try:
            import onnx  # noqa: F401
        except ImportError as error:
            raise ImportError(_NEEDED) from error
        names = [source.column for source in read]
        if not read or len(set(names)) < len(names):
            raise ValueError(
                "ONNX needs a column to read, and each as numbers or as text; this "
                f"model reads {names}."
            )
        self.features, self.read = features, read
        self.columns = set(names)
        self.prefix = "_"  # of all names that are not columns
        while any(column.startswith(self.prefix) for column in self.columns):
            self.prefix += "_"
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def finish(self, outputs: list, heading: list[str]) -> bytes:
        """Return the whole as an ONNX file, after onnx's own checks."""
        from onnx import TensorProto, checker, helper

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
            doc_string="\n".join(heading),
        )
        opsets = [
            helper.make_opsetid("", _OPSET),
            helper.make_opsetid("ai.onnx.ml", _ML_OPSET),
        ]
        model = helper.make_model(
            graph, producer_name="treelab", opset_imports=opsets, ir_version=_IR
        )
        checker.check_model(model)
        return model.SerializeToString()

    def add(
        self, operator: str, *read: str, domain: str = "", n_spare=0, **attributes
    ) -> str:
        """Add an operator; return the name of the first thing that it computes."""
        from onnx import helper

        name = f"{self.prefix}{operator}_{len(self.nodes)}"
        names = [name, *(f"{name}_{k}" for k in range(n_spare))]
        self.nodes.append(
            helper.make_node(operator, read, names, domain=domain, **attributes)
        )
        return name

    def constant(self, array) -> str:
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

    def feature(self, j: int) -> str:
        """Read one feature, (rows, 1); NaN where it is missing."""
        feature = self.features[j]
        if source_of(feature).kind == "number":
            return self._number(feature)
        if "" in feature.categories:
            raise ValueError(
                f"Column {feature.column!r} has a category without letters, which in "
                "ONNX is a missing value. Rename it in the table."
            )
        n = len(feature.categories)
        code = self.add(
            "LabelEncoder",
            feature.column,
            domain="ai.onnx.ml",
            keys_strings=[*feature.categories, ""],
            values_int64s=[*range(n), n],
            default_int64=n + 1,
        )
        scores = self.constant(np.array([*feature.scores, np.nan, feature.unseen]))
        return self.add("Gather", scores, code)

    def _number(self, feature: Feature) -> str:
        """Read a number, NaN where it lies in the range that counts as missing."""
        if feature.missing_interval is None:
            return feature.column
        low, high, missing = (
            self.constant(np.array([value]))
            for value in (*feature.missing_interval, np.nan)
        )
        above = self.add("GreaterOrEqual", feature.column, low)
        below = self.add("LessOrEqual", feature.column, high)
        inside = self.add("And", above, below)
        return self.add("Where", inside, missing, feature.column)

    def shape(self, x: dict[int, str], columns: int) -> str:
        """Return the shape (rows, columns)."""
        rows = self.add("Shape", next(iter(x.values())), start=0, end=1)
        return self.add("Concat", rows, self.constant(np.array([columns])), axis=0)

    def zeros(self, x: dict[int, str], columns: int, kind: type = np.float64) -> str:
        """Return zeros, (rows, columns)."""
        from onnx import numpy_helper

        nothing = numpy_helper.from_array(np.zeros(1, dtype=kind))
        return self.add("ConstantOfShape", self.shape(x, columns), value=nothing)

    def classes(self, classes: tuple, value: str, best: str | None = None) -> list:
        """Turn probabilities (rows, n_classes) into the outputs of a classifier.

        ``best`` are the places (rows,) of the predicted classes; None: the most
        probable ones.
        """
        from onnx import TensorProto

        whole = all(type(label) is int for label in classes)
        kind = TensorProto.INT64 if whole else TensorProto.STRING
        labels = np.array(classes if whole else [*map(str, classes)])
        best = best or self.add("ArgMax", value, axis=1, keepdims=0)
        label = self.add("Gather", self.constant(labels), best)
        shape = ["rows", len(classes)]
        return [
            self.output("label", label, kind, ["rows"]),
            self.output("probabilities", value, TensorProto.DOUBLE, shape),
        ]

    def output(self, name: str, value: str, kind: int, shape: list):
        """Give an output its name, with an underscore where a column has it."""
        from onnx import helper

        while name in self.columns:
            name += "_"
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        return helper.make_tensor_value_info(name, kind, shape)
