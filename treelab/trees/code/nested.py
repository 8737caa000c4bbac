"""A tree as nested ifs, cut into functions where it is deep.

Compilers and readers give up on deep nesting (Python at 100 levels), so a branch that
begins on every ``LEVELS``-th level is a function of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass

LEVELS = 12


@dataclass(frozen=True)
class Style:
    """How a language writes a choice: around the test, between and after the two."""

    opening: str
    otherwise: str
    closing: str | None = None


def function_roots(tree) -> list[int]:
    """Return the splits with which a function begins, deepest first, the root last."""
    roots = [
        node
        for node in range(1, tree.n_nodes)
        if tree.level[node] % LEVELS == 0 and not tree.is_leaf[node]
    ]
    return [*sorted(roots, key=lambda node: -tree.level[node]), 0]


def nested(
    tree,
    root: int,
    style: Style,
    test: Callable[[int], str],
    leaf: Callable[[int], list[str]],
    call: Callable[[int], str],
    guard: Callable[[int], list[str]] = lambda node: [],
) -> list[str]:
    """Return the lines of one function's body, indented by four spaces a level.

    Parameters
    ----------
    tree : Tree
    root : int
        A node of ``function_roots``.
    style : Style
    test, leaf, call, guard : functions of a node
        The condition that leads left at a split, the lines of a leaf, the line that
        hands over to another function, and lines that stand before a split.
    """

    def write(node: int, before: str) -> list[str]:
        if tree.is_leaf[node]:
            return [before + line for line in leaf(node)]
        if node != root and tree.level[node] % LEVELS == 0:
            return [before + call(node)]
        lines = [before + line for line in guard(node)]
        lines.append(before + style.opening.format(test(node)))
        lines += write(int(tree.left[node]), before + "    ")
        lines.append(before + style.otherwise)
        lines += write(int(tree.right[node]), before + "    ")
        return lines if style.closing is None else [*lines, before + style.closing]

    return write(root, "    ")
