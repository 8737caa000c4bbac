"""A tree as nested ifs, cut into functions where it is deep.

Compilers and readers give up on deep nesting (Python at 100 levels), so a branch that
begins on every ``LEVELS``-th level is a function of its own.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from treelab.trees.code.names import identifiers, leaf_comment
from treelab.trees.code.splits import CategoryTest, NumberTest, split_test
from treelab.trees.code.writer import Writer
from treelab.trees.tree import Tree

LEVELS = 12


@dataclass(frozen=True)
class Style:
    """How a language writes a choice (before, between, after its sides), a comment."""

    opening: str
    otherwise: str
    closing: str | None
    comment: str


class NestedWriter(Writer):
    """Writes a tree as functions of nested ifs.

    Attributes
    ----------
    names : dict of Input to str
        An identifier for each column.
    """

    style: ClassVar[Style]

    def __init__(self, tree: Tree):
        super().__init__(tree)
        self.names = dict(zip(self.inputs, identifiers(i.column for i in self.inputs)))

    @abstractmethod
    def number_test(self, test: NumberTest) -> str:
        """Write that a number goes left."""

    @abstractmethod
    def category_test(self, test: CategoryTest) -> str:
        """Write that a category goes left."""

    @abstractmethod
    def call(self, node: int) -> str:
        """Write the line that hands over to the function of a branch."""

    def guard(self, node: int) -> list[str]:
        """Write the lines that stand before a split."""
        return []

    def function_roots(self) -> list[int]:
        """Return the splits with which a function begins, deepest first, root last."""
        tree = self.tree
        roots = [
            node
            for node in range(1, tree.n_nodes)
            if tree.level[node] % LEVELS == 0 and not tree.is_leaf[node]
        ]
        return [*sorted(roots, key=lambda node: -tree.level[node]), 0]

    def body(self, root: int) -> list[str]:
        """Return the lines of one function, indented by four spaces a level."""
        tree, style = self.tree, self.style

        def write(node: int, before: str) -> list[str]:
            if tree.is_leaf[node]:
                return [before + line for line in self._leaf(node)]
            if node != root and tree.level[node] % LEVELS == 0:
                return [before + self.call(node)]
            lines = [before + line for line in self.guard(node)]
            lines.append(before + style.opening.format(self._test(node)))
            lines += write(int(tree.left[node]), before + "    ")
            lines.append(before + style.otherwise)
            lines += write(int(tree.right[node]), before + "    ")
            return lines if style.closing is None else [*lines, before + style.closing]

        return write(root, "    ")

    def return_line(self, prediction: str) -> str:
        """Write the line that returns a leaf's prediction."""
        return f"return {prediction}"

    def _test(self, node: int) -> str:
        """Write the condition that leads left."""
        test = split_test(self.tree, node)
        if isinstance(test, NumberTest):
            return self.number_test(test)
        if isinstance(test, CategoryTest):
            return self.category_test(test)
        return self.sum_test(test)

    def _leaf(self, node: int) -> list[str]:
        """Write the lines of a leaf; a linear model's comment has a line of its own."""
        line = self.return_line(self.prediction(node))
        comment = self.style.comment.format(leaf_comment(self.tree, node))
        if self.tree.leaf_weights is None:
            return [line + comment]
        return [comment.strip(), line]
