"""Trees and ensembles as C."""

import re
from collections.abc import Mapping
from math import nan
from pathlib import Path

import numpy as np

from treelab.trees.code.writer import (
    FAR_BELOW,
    CategoryTest,
    Exported,
    Input,
    NestedWriter,
    NumberTest,
    Term,
    as_written,
    check_characters,
    comment,
    heading,
    identifiers,
    inputs,
    refuse_several,
    scores_of,
    source_of,
)
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.tree import Tree, as_matrix

# Numbers, text and rows as C99 has them.


TYPES = {"number": "double ", "category": "const char *"}
# The functions of ``carried.c``, each below a line with its name.
_TEXT = Path(__file__).with_name("carried.c").read_text("utf-8")
CARRIED = dict(re.findall(r"^//@ (\w+)\n(.*?)(?=^//@|\Z)", _TEXT, re.M | re.S))
_HELPERS = ("same", "unless", "filled")  # which others call


def _file(
    model: Tree | WeightedTrees,
    names: Mapping[Input, str],
    notes: list[str],
    tables: list[list[str]],
    functions: list[list[str]],
) -> str:
    """Write a file: heading, row, tables, and functions with the helpers they call."""
    lines = [*heading(model, [*names]), *notes]
    members = []
    for source, name in names.items():
        unit = f", {source.unit}" if source.unit else ""
        column = comment(f"{source.column}{unit}")
        members.append(f"    {TYPES[source.kind]}{name}; /* {column} */")
    members = members or ["    char unused; /* no column is read */"]
    used = str(functions)
    parts = [
        ["/*", *(f" * {line}" for line in lines), " */"],
        ["#include <math.h>", "#include <stddef.h>", "#include <string.h>"],
        ["struct tree_row {", *members, "};"],
        *tables,
        *([CARRIED[name]] for name in _HELPERS if f"{name}(" in used),
        *functions,
    ]
    return "\n\n".join("\n".join(part).strip("\n") for part in parts) + "\n"


def member(source: Input, name: str) -> str:
    """Write how a row's column is read."""
    if source.missing_range is None:
        return f"row->{name}"
    low, high = map(number, source.missing_range)
    return f"unless(row->{name}, {low}, {high})"


def number(value: float) -> str:
    """Write a number as a double; C reads back the same float64."""
    if value != value:
        return "NAN"
    if value in (float("inf"), float("-inf")):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(value)


def c_text(value: str) -> str:
    """Write text as a C literal of UTF-8 bytes, all but plain letters escaped.

    ValueError if it holds NUL, where C text ends, or half of a surrogate pair.
    """
    check_characters(value, "C text cannot hold")
    return '"' + "".join(map(_byte, value.encode())) + '"'


def _byte(byte: int) -> str:
    """Write one byte; three octal digits never run on into what follows."""
    character = chr(byte)
    plain = 32 <= byte < 127 and character not in '"\\?'  # "??/" would be a backslash
    return character if plain else f"\\{byte:03o}"


def _class_lines(classes: tuple) -> list[str]:
    """Write the labels of the classes as a table."""
    names = (f"    {c_text(str(label))}," for label in classes)
    opening = "const char *const tree_classes[TREE_N_CLASSES] = {"
    return [f"#define TREE_N_CLASSES {len(classes)}", "", opening, *names, "};"]


def _score_function(
    index: int, missing: float, scores: Mapping[str, float], unseen: float
) -> list[str]:
    """Write the number of each category of a feature as a function."""
    lines = [f"static double score_{index}(const char *category)", "{"]
    lines.append(f"    if (category == NULL) return {number(missing)};")
    for category, score in scores.items():
        lines.append(
            f"    if (same(category, {c_text(category)})) return {number(score)};"
        )
    return [*lines, f"    return {number(unseen)};", "}"]


# An ensemble as functions in C99; NaN and NULL are missing values.


_LINE = 8  # numbers on a line


def ensemble_to_c(model: WeightedTrees) -> str:
    """Write an ensemble as ``to_c`` writes a tree."""
    used = model.read.tolist()
    read = inputs(model)
    names = dict(zip(read, identifiers(source.column for source in read)))
    functions = _features(model, used, names)
    functions += [[CARRIED["leaf"]], [CARRIED[model.weighting]]]
    mean = CARRIED["mean"]
    if model.n_deciding < model.n_estimators:
        sizes = {"MOST_DECIDERS": model.n_deciding, "NO_WEIGHT": FAR_BELOW}
        limits = [f"#define TREE_{name} {size}" for name, size in sizes.items()]
        functions.append([*limits, CARRIED["limit"]])
        mean = mean.replace("weigh(weight);", "limit(weight);\n    weigh(weight);")
    functions.append([mean])
    if model.classes is None:
        functions.append([CARRIED["predict"]])
    else:
        is_mean = model.leaf_output == "probabilities"
        found = CARRIED["probabilities" if is_mean else "logits"]
        if not is_mean and model.leaf_value.shape[2] == 1:
            found = found.replace(*_ONE_LOGIT)
        functions.append([found, "", CARRIED["class"]])
    return _file(model, names, [], [_tables(model, used)], functions)


def _tables(model: WeightedTrees, used: list[int]) -> list[str]:
    """Write the trees as arrays, splits breadth first and leaves left to right."""
    place = np.searchsorted(used, model.feature)
    sizes = {
        "N_TREES": model.n_estimators,
        "N_SPLITS": model.n_leaves - 1,
        "N_LEAVES": model.n_leaves,
        "N_VALUES": model.leaf_value.shape[2],
        "N_FEATURES": max(len(used), 1),
    }
    lines = [f"#define TREE_{name} {size}" for name, size in sizes.items()]
    if model.classes is not None:
        lines += _class_lines(model.classes)
        weights = np.ones(len(model.classes))
        if model.class_weights is not None:
            weights = model.class_weights
        shape = "[TREE_N_CLASSES][TREE_N_CLASSES]"  # those of a predicted class a row
        lines += ["", f"static const double class_weight{shape} = {{"]
        for own in as_matrix(weights).T.tolist():
            lines.append(f"    {{{', '.join(map(number, own))}}},")
        lines.append("};")
    for kind, name, array in (
        ("int", "split_feature", place),
        ("double", "split_threshold", model.threshold),
        ("char", "split_missing_left", model.missing_left.astype(int)),
        ("double", "leaf_weight", model.leaf_weight),
        ("double", "leaf_value", model.leaf_value),
    ):
        cells = [
            number(cell) if kind == "double" else str(cell)
            for cell in array.ravel().tolist()
        ] or ["0"]
        lines += ["", f"static const {kind} {name}[{len(cells)}] = {{"]
        for first in range(0, len(cells), _LINE):
            lines.append(f"    {', '.join(cells[first : first + _LINE])},")
        lines.append("};")
    return lines


def _features(model: WeightedTrees, used: list[int], names) -> list[list[str]]:
    """Write the function that reads a row, and those of its categories' numbers."""
    functions: list[list[str]] = []
    lines = ["static void read_row(const struct tree_row *row, double *x)", "{"]
    if not used:
        lines += ["    (void)row;", "    x[0] = 0;"]
    for i, j in enumerate(used):
        feature = model.features[j]
        source = source_of(feature)
        value = member(source, names[source])
        if feature.kind != "number":
            own = scores_of(feature)
            functions.append(_score_function(j, nan, own, feature.unseen))
            value = f"score_{j}({value})"
        lines.append(f"    x[{i}] = {value};")
    return [*functions, [*lines, "}"]]


_ONE_LOGIT = (  # what changes where there is one
    "(row, probability);\n",
    "(row, probability + 1);\n"
    "    probability[0] = 0; /* the one logit is that of the second class */\n",
)


# A tree as a function in C99; NaN and NULL are missing values.


_BUILD = (
    "It predicts as the tree does, to the last bit, where products and sums are "
    "rounded one by one: compile with -std=c99 or -ffp-contract=off, not with "
    "-ffast-math."
)


def to_c(tree: Exported) -> str:
    """Write a tree, or an ensemble, as C99.

    Parameters
    ----------
    tree : Tree, WeightedTrees, PruningPath or Forest

    Returns
    -------
    str
        A file with ``struct tree_row``, a member a column: double, NAN where it is
        missing, or ``const char *`` (UTF-8), NULL where it is missing.

        For classes, ``tree_class(&row)`` returns a place in ``tree_classes`` and
        ``tree_probabilities(&row)`` an array of as many doubles; -1 and NULL where
        nothing stands for a missing value (``tree.predict`` raises ValueError there).
        For regression ``tree_predict(&row)`` returns the value, NAN in that case.
        An ensemble's ``tree_probabilities(&row, probability)`` writes as many doubles,
        equal to its own up to rounding.

    Raises
    ------
    ValueError
        If a category holds a character that C text cannot hold, or the tree has
        several outputs.
    """
    model = as_written(tree)
    if isinstance(model, WeightedTrees):
        return ensemble_to_c(model)
    refuse_several(model, "C")
    return _File(model).text()


class _File(NestedWriter):
    """The source of one tree."""

    opening, otherwise, closing, remark = "if ({}) {{", "} else {", "}", " /* {} */"

    def __init__(self, tree: Tree):
        super().__init__(tree)
        leaves = tree.is_leaf.nonzero()[0].tolist()
        self.place = {leaf: i for i, leaf in enumerate(leaves)}
        self.kind = "double" if tree.classes is None else "int"

    def text(self) -> str:
        """Write the file."""
        functions = []
        for root in self.function_roots():
            name = f"branch_{root}" if root else "tree_leaf"
            if self.tree.classes is None and not root:
                name = "tree_predict"
            functions.append([*self._head(name, root), *self.body(root), "}"])
        tables = []
        if self.tree.classes is not None:
            tables.append(self._tables())
            functions.append([CARRIED["tree_class"]])
        functions = [*self.scores.values(), *functions]
        return _file(self.tree, self.names, [comment(_BUILD)], tables, functions)

    def _tables(self) -> list[str]:
        """Write the classes, and their probabilities at each leaf."""
        tree = self.tree
        shape = f"[{len(self.place)}][TREE_N_CLASSES]"
        lines = [*_class_lines(tree.classes or ()), ""]
        lines.append(f"static const double leaf_value{shape} = {{")
        for leaf in self.place:
            probabilities = ", ".join(map(number, tree.value[leaf].tolist()))
            lines.append(f"    {{{probabilities}}},")
        lines.append("};")
        chosen = ", ".join(str(tree.predicted_class[leaf]) for leaf in self.place)
        lines += ["", f"static const int leaf_class[] = {{{chosen}}};"]
        return lines

    def _head(self, name: str, root: int) -> list[str]:
        """Open a function."""
        shared = not root and self.tree.classes is None
        lines = [
            f"{'' if shared else 'static '}{self.kind} {name}"
            "(const struct tree_row *row)",
            "{",
        ]
        return lines if self.names else [*lines, "    (void)row;"]

    def call(self, node: int) -> str:
        return f"return branch_{node}(row);"

    def return_line(self, prediction: str) -> str:
        return f"return {prediction};"

    def guard(self, node: int) -> list[str]:
        """Write the early return where a sum lacks a number."""
        nothing = "NAN" if self.tree.classes is None else "-1"
        missing = " || ".join(f"isnan({value})" for value in self.may_lack(node))
        return [f"if ({missing}) return {nothing};"] if missing else []

    def number(self, value: float) -> str:
        return number(value)

    def number_test(self, test: NumberTest) -> str:
        name = member(test.source, self.names[test.source])
        condition = f"{name} <= {number(test.threshold)}"
        return f"{condition} || isnan({name})" if test.missing_left else condition

    def category_test(self, test: CategoryTest) -> str:
        name = f"row->{self.names[test.source]}"
        # NULL equals no text.
        found = " || ".join(f"same({name}, {c_text(c)})" for c in test.listed)
        if test.inside:
            missing = [f"{name} == NULL"] if test.missing_left else []
            return " || ".join([*missing, *([found] if found else [])]) or "0"
        condition = f"!({found})" if found else "1"
        return condition if test.missing_left else f"{name} != NULL && {condition}"

    def class_prediction(self, leaf: int) -> str:
        return str(self.place[leaf])

    def value(self, term: Term) -> str:
        """Write a term's number; NAN where it has none."""
        name = member(term.source, self.names[term.source])
        if term.scores is None:
            return name if term.may_fail else f"filled({name}, {number(term.fill)})"
        found = _score_function(term.index, term.fill, term.scores, term.unseen)
        self.scores[term.index] = found
        return f"score_{term.index}({name})"
