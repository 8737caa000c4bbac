"""A tree as a Python function that needs nothing but the standard library."""

from treelab.trees.code.ensembles.python import ensemble_to_python
from treelab.trees.code.names import heading
from treelab.trees.code.nested import NestedWriter, Style
from treelab.trees.code.python_helpers import (
    OF_LEAF,
    PREDICT_CLASS,
    category_keys,
    needed_helpers,
    reading,
)
from treelab.trees.code.splits import CategoryTest, NumberTest, Term
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.tree import Tree


def to_python(tree: Tree | WeightedTrees) -> str:
    """Write a tree, or an ensemble, as Python source.

    Parameters
    ----------
    tree : Tree or WeightedTrees

    Returns
    -------
    str
        A module with ``predict(row)`` and, for classes, ``CLASSES`` and
        ``predict_proba(row)``. A row is a dict, or any record that is indexed by
        column names; None, NaN and pandas' NA are missing values. It predicts as
        ``tree.predict`` does, and raises ValueError where that does; an ensemble's
        probabilities and values are equal up to rounding.
    """
    if isinstance(tree, WeightedTrees):
        return ensemble_to_python(tree)
    return _Module(tree).text()


class _Module(NestedWriter):
    """The source of one tree."""

    style = Style("if {}:", "else:", None, "  # {}")

    def __init__(self, tree: Tree):
        super().__init__(tree)
        self.scores: dict[
            int, list[str]
        ] = {}  # feature index to the lines of its table of scores

    def text(self) -> str:
        """Write the module."""
        tree = self.tree
        functions = [
            "\n".join(self._branch(root)) for root in self.function_roots() if root
        ]
        functions.append("\n".join(self._main()))
        if tree.classes is not None:
            functions.append(PREDICT_CLASS if tree.decision is None else OF_LEAF)
        tables = ["\n".join(lines) for lines in self.scores.values()]
        helpers = needed_helpers("\n".join([*functions, *tables]))
        body = "\n".join([*functions, *tables, *helpers])
        needed = [name for name in ("inf", "isnan", "nan") if name in body]
        top = [f"# {line}" for line in heading(tree, self.inputs)]
        if needed:
            top += ["", f"from math import {', '.join(needed)}"]
        if tree.classes is not None:
            top += ["", f"CLASSES = {tuple(tree.classes)!r}"]
        for table in tables:
            top += ["", table]
        return "\n\n\n".join(["\n".join(top), *helpers, *functions]) + "\n"

    def _main(self) -> list[str]:
        """Write the function that reads a row."""
        if self.tree.decision is not None:
            lines = [
                "def _leaf(row):",
                '    """Return the place of the class, and the probabilities."""',
            ]
        elif self.tree.classes is None:
            lines = ["def predict(row):", '    """Return the value for one row."""']
        else:
            lines = [
                "def predict_proba(row):",
                '    """Return the probability of each of CLASSES for one row."""',
            ]
        for source, name in self.names.items():
            lines.append(f"    {name} = {reading(source)}")
        return [*lines, *self.body(0)]

    def _branch(self, root: int) -> list[str]:
        """Write the function of a branch far below the root."""
        return [f"def _branch_{root}({self._arguments()}):", *self.body(root)]

    def _arguments(self) -> str:
        """Name what a branch is called with: everything that was read."""
        return ", ".join(self.names.values())

    def call(self, node: int) -> str:
        return f"return _branch_{node}({self._arguments()})"

    def number(self, value: float) -> str:
        return repr(value)

    def number_test(self, test: NumberTest) -> str:
        name = self.names[test.source]
        condition = f"{name} <= {test.threshold!r}"
        return f"{condition} or isnan({name})" if test.missing_left else condition

    def category_test(self, test: CategoryTest) -> str:
        name = self.names[test.source]
        missing_listed = test.missing_left == test.inside
        keys = [repr(key) for c in test.listed for key in category_keys(c)]
        listed = [*keys, *(["None"] if missing_listed else [])]
        # "in ()" is never true, and {} would be a dict.
        group = f"{{{', '.join(listed)}}}" if listed else "()"
        return f"{name} {'in' if test.inside else 'not in'} {group}"

    def class_prediction(self, leaf: int) -> str:
        own = tuple(self.tree.value[leaf].tolist())
        if self.tree.decision is None:
            return repr(own)
        return repr((int(self.tree.decision[leaf]), own))

    def value(self, term: Term) -> str:
        """Write a term's number."""
        name = self.names[term.source]
        if term.scores is not None:
            name = f"{self._table(term)}.get({name}, {term.unseen!r})"
            if not term.may_fail:
                return name
        if term.may_fail:
            return f"_known({name}, {term.source.column!r})"
        return f"_filled({name}, {term.fill!r})"

    def _table(self, term: Term) -> str:
        """Name the table of a category column's scores, which goes to the top."""
        table = f"_SCORES_{term.index}"
        entries: dict = {None: term.fill}
        for category, score in (term.scores or {}).items():
            entries |= dict.fromkeys(category_keys(category), score)
        rows = [f"    {category!r}: {score!r}," for category, score in entries.items()]
        self.scores[term.index] = [f"{table} = {{", *rows, "}"]
        return table
