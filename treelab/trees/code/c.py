"""A tree as a function in C99; NaN and NULL are missing values."""

from treelab.trees.code.c_parts import HELPERS, c_text, member, number, struct_lines
from treelab.trees.code.ensembles.c import ensemble_to_c
from treelab.trees.code.names import comment, heading
from treelab.trees.code.nested import NestedWriter, Style
from treelab.trees.code.splits import CategoryTest, NumberTest, Term
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.tree import Tree

_BUILD = (
    "It predicts as the tree does, to the last bit, where products and sums are "
    "rounded one by one: compile with -std=c99 or -ffp-contract=off, not with "
    "-ffast-math."
)


def to_c(tree: Tree | WeightedTrees) -> str:
    """Write a tree, or an ensemble, as C99.

    Parameters
    ----------
    tree : Tree or WeightedTrees

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
        If a category holds a character that C text cannot hold.
    """
    if isinstance(tree, WeightedTrees):
        return ensemble_to_c(tree)
    return _File(tree).text()


class _File(NestedWriter):
    """The source of one tree."""

    style = Style("if ({}) {{", "} else {", "}", " /* {} */")

    def __init__(self, tree: Tree):
        super().__init__(tree)
        self.scores: dict[
            int, list[str]
        ] = {}  # feature index to the lines of its function
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
        used = "\n".join(line for lines in functions for line in lines)
        used += "\n".join(line for lines in self.scores.values() for line in lines)
        parts = [
            self._comment(),
            ["#include <math.h>", "#include <stddef.h>", "#include <string.h>"],
            struct_lines(self.names),
        ]
        if self.tree.classes is not None:
            parts.append(self._tables())
        parts += [
            helper.strip("\n").split("\n")
            for name, helper in HELPERS.items()
            if f"{name}(" in used
        ]
        parts += [*self.scores.values(), *functions]
        if self.tree.classes is not None:
            parts.append(_CLASS_FUNCTIONS.strip("\n").split("\n"))
        return "\n\n".join("\n".join(lines) for lines in parts) + "\n"

    def _comment(self) -> list[str]:
        """Write the heading."""
        lines = [*heading(self.tree, self.inputs), comment(_BUILD)]
        return ["/*", *(f" * {line}" for line in lines), " */"]

    def _tables(self) -> list[str]:
        """Write the classes, and their probabilities at each leaf."""
        tree, classes = self.tree, self.tree.classes or ()
        lines = [f"#define TREE_N_CLASSES {len(classes)}", ""]
        lines.append("const char *const tree_classes[TREE_N_CLASSES] = {")
        lines += [f"    {c_text(str(label))}," for label in classes]
        lines += ["};", ""]
        lines.append(
            f"static const double leaf_value[{len(self.place)}][TREE_N_CLASSES] = {{"
        )
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
        self.scores[term.index] = _score_function(term)
        return f"score_{term.index}({name})"


def _score_function(term: Term) -> list[str]:
    """Write the number of each category as a function."""
    lines = [f"static double score_{term.index}(const char *category)", "{"]
    lines.append(f"    if (category == NULL) return {number(term.fill)};")
    for category, score in (term.scores or {}).items():
        lines.append(
            f"    if (same(category, {c_text(category)})) return {number(score)};"
        )
    return [*lines, f"    return {number(term.unseen)};", "}"]


_CLASS_FUNCTIONS = """
const double *tree_probabilities(const struct tree_row *row)
{
    int leaf = tree_leaf(row);
    return leaf < 0 ? NULL : leaf_value[leaf];
}

int tree_class(const struct tree_row *row)
{
    int leaf = tree_leaf(row);
    return leaf < 0 ? -1 : leaf_class[leaf];
}
"""
