"""A tree in a few short lines: what a label has room for."""

from treelab.trees.text.names import short
from treelab.trees.text.nodes import prediction_label, split_text
from treelab.trees.text.numerals import counted
from treelab.trees.tree import Tree

WIDTH = 34  # letters of a line
NAME = 14  # letters of a name in it
_CATEGORIES = 1  # that are listed before "... more"; of a weighted sum, its terms


def sketch(tree: Tree) -> list[str]:
    """Return a tree's first two levels as lines of at most ``WIDTH`` letters.

    Returns
    -------
    list of str
        At most six, such as::

            radius ≤ 10?
            ├ then small
            └ else texture ≤ 6?
               then rough, else …
            … 3 more splits
    """
    if tree.is_leaf[0]:
        return [short(prediction_label(tree, 0), WIDTH)]
    lines, n_shown = [_split(tree, 0, WIDTH - 1)], 1
    sides = (
        (int(tree.left[0]), "├ then ", "│  "),
        (int(tree.right[0]), "└ else ", "   "),
    )
    for child, before, below in sides:
        if tree.is_leaf[child]:
            leaf = short(prediction_label(tree, child), WIDTH - len(before))
            lines.append(f"{before}{leaf}")
            continue
        n_shown += 1
        lines.append(f"{before}{_split(tree, child, WIDTH - len(before) - 1)}")
        yes, no = (
            short(prediction_label(tree, leaf), 10) if tree.is_leaf[leaf] else "…"
            for leaf in (int(tree.left[child]), int(tree.right[child]))
        )
        lines.append(f"{below}then {yes}, else {no}")
    if more := tree.n_splits - n_shown:
        lines.append(f"… {counted(more, 'more split')}")
    return lines


def _split(tree: Tree, node: int, width: int) -> str:
    """Return a split as a question of at most so many letters and its mark."""
    text = split_text(tree, node, most=_CATEGORIES, length=NAME, missing=False)
    if len(text) > width:
        text = f"{text[: width - 1].rstrip()}…"
        # A name from right to left that was cut still ends where the line goes on.
        text += "\u2069" * (text.count("\u2068") - text.count("\u2069"))
    return f"{text}?"
