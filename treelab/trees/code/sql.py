"""A tree as one CASE expression of standard SQL; NULL is a missing value."""

from fractions import Fraction
from math import inf, isinf, ulp

from treelab.trees.code.ensembles.heading import refuse_ensemble
from treelab.trees.code.names import heading, leaf_comment
from treelab.trees.code.splits import (
    CategoryTest,
    Input,
    NumberTest,
    SumTest,
    Term,
    split_test,
)
from treelab.trees.code.writer import Writer
from treelab.trees.tree import Tree

# Some databases allow ten nested CASEs, and SQLite's parser about twenty; what lies
# deeper is one list of leaves.
LEVELS = 8
_LARGEST = 1.7976931348623157e308


def to_sql(tree: Tree) -> str:
    """Write a tree as a CASE expression.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    str
        Comments, then an expression of the columns, quoted as standard SQL has it,
        to be put after SELECT: a label, or a value of the target. It predicts as
        ``tree.predict`` does, NULL where that raises ValueError because nothing
        stands for a missing value. A label that is not text is a number or TRUE and
        FALSE, unless labels are of several types: then all are text.

    Raises
    ------
    ValueError
        If it is an ensemble, or a name or a category holds a character that SQL has no
        way to write.
    """
    refuse_ensemble(tree, "SQL")
    case = _Case(tree)
    lines = [f"-- {line}" for line in heading(tree, case.inputs)]
    return "\n".join([*lines, *case.nested(0, "", LEVELS)]) + "\n"


class _Case(Writer):
    """Writes the branches of one tree."""

    def __init__(self, tree: Tree):
        super().__init__(tree)
        n_leaves = tree.is_leaf.astype(int)
        for node in sorted(range(1, tree.n_nodes), key=lambda n: -tree.level[n]):
            n_leaves[tree.parent[node]] += n_leaves[node]
        self.n_leaves = n_leaves
        types = {type(label) for label in tree.classes or ()}
        self.as_text = len(types) > 1

    def nested(self, node: int, before: str, levels: int) -> list[str]:
        """Write a branch as nested CASEs down to a number of levels."""
        tree = self.tree
        if tree.is_leaf[node]:
            return [f"{before}{self.prediction(node)}  -- {leaf_comment(tree, node)}"]
        if levels == 0:
            return self.listed(node, before)
        lines = [f"{before}CASE"]
        if unknown := self.unknown(node):
            lines.append(f"{before}  WHEN {unknown} THEN NULL")
        lines.append(f"{before}  WHEN {self.side(node, True)} THEN")
        lines += self.nested(int(tree.left[node]), before + "    ", levels - 1)
        lines.append(f"{before}  ELSE")
        lines += self.nested(int(tree.right[node]), before + "    ", levels - 1)
        return [*lines, f"{before}END"]

    def listed(self, root: int, before: str) -> list[str]:
        """Write a branch as one CASE, a line a leaf; the first that holds counts.

        Of two branches the smaller comes first. A leaf need not repeat the condition
        that leads into the later branch: had it not held, an earlier line would have
        matched. So a line has at most log2(leaves) conditions, oblique splits aside.
        """
        tree = self.tree
        lines = [f"{before}CASE"]
        waiting: list[tuple[int, tuple[str, ...]]] = [(root, ())]
        while waiting:
            node, conditions = waiting.pop()
            if tree.is_leaf[node]:
                comment = leaf_comment(tree, node)
                if waiting:
                    when = " AND ".join(conditions)
                    then = f"WHEN {when} THEN {self.prediction(node)}"
                else:
                    then = f"ELSE {self.prediction(node)}"
                lines.append(f"{before}  {then}  -- {comment}")
                continue
            if unknown := self.unknown(node):
                when = " AND ".join([*conditions, f"({unknown})"])
                lines.append(f"{before}  WHEN {when} THEN NULL")
            left, right = int(tree.left[node]), int(tree.right[node])
            # A sum may be infinity minus infinity: then only "not left" is sure.
            left_first = self.n_leaves[left] <= self.n_leaves[right] or isinstance(
                split_test(tree, node), SumTest
            )
            first, later = (left, right) if left_first else (right, left)
            waiting.append((later, conditions))
            condition = self.side(node, left_first)
            if " OR " in condition:
                condition = f"({condition})"
            waiting.append((first, (*conditions, condition)))
        return [*lines, f"{before}END"]

    def unknown(self, node: int) -> str:
        """Write when a weighted sum lacks a number; "" where it never does."""
        return " OR ".join(f"{value} IS NULL" for value in self.may_lack(node))

    def number(self, value: float) -> str:
        return number(value)

    def side(self, node: int, left: bool) -> str:
        """Write the condition that leads to a side of a split; of a sum to the left."""
        test = split_test(self.tree, node)
        if isinstance(test, SumTest):
            return self.sum_test(test)
        name = quoted_name(test.source)
        if isinstance(test, NumberTest):
            known = _number_side(name, test.threshold, left)
        else:
            known = _category_side(name, test, left)
        missing = f"{name} IS NULL"
        if test.missing_left != left:
            return known or "1 = 0"
        return f"{known} OR {missing}" if known else missing

    def class_prediction(self, leaf: int) -> str:
        classes = self.tree.classes or ()
        label = classes[self.tree.predicted_class[leaf]]
        return _label(str(label) if self.as_text else label)

    def value(self, term: Term) -> str:
        """Write a term's number; NULL where it has none."""
        name = quoted_name(term.source)
        if term.scores is None:
            return name if term.may_fail else f"COALESCE({name}, {number(term.fill)})"
        parts = [f"WHEN {name} IS NULL THEN {number(term.fill)}"]
        parts += [
            f"WHEN {name} = {text(category)} THEN {number(score)}"
            for category, score in term.scores.items()
            if score != term.unseen
        ]
        return f"CASE {' '.join(parts)} ELSE {number(term.unseen)} END"


def _number_side(name: str, threshold: float, left: bool) -> str:
    """Write when a known number goes to a side; "" for never."""
    if threshold == inf:
        return f"{name} IS NOT NULL" if left else ""
    if threshold == -inf:  # only minus infinity itself goes left
        return f"{name} {'<' if left else '>='} {-_LARGEST!r}"
    return f"{name} {'<=' if left else '>'} {number(threshold)}"


def _category_side(name: str, test: CategoryTest, left: bool) -> str:
    """Write when a known category goes to a side; "" for never."""
    inside = test.inside == left
    if not test.listed:
        return "" if inside else f"{name} IS NOT NULL"
    listed = ", ".join(map(text, test.listed))
    return f"{name} {'IN' if inside else 'NOT IN'} ({listed})"


def number(value: float) -> str:
    """Write a number so that databases read back the same float64.

    Databases older than 2023 read a literal with an error of about a thousandth of
    the last place (SQLite 3.40 did so for 1 in 10,000). That matters only where the
    shortest text lies almost halfway to a neighbour; 17 digits never do.
    """
    value = float(value)
    if value != value:
        return "NULL"
    if isinf(value):
        return "9e999" if value > 0 else "-9e999"
    shortest = repr(value)
    off = abs(Fraction(shortest) - Fraction(value))
    # Within 0.45 of the last place is well within the half that rounds right.
    return shortest if off * 20 <= 9 * Fraction(ulp(value)) else f"{value:.17g}"


def text(value: str) -> str:
    """Write text as a literal.

    Raises
    ------
    ValueError
        If it holds a character that SQL has no way to write.
    """
    return _quoted(value, "'")


def quoted_name(source: Input) -> str:
    """Write a column's name as a quoted identifier."""
    return _quoted(source.column, '"')


def _quoted(value: str, quote: str) -> str:
    """Put text into quotes, the quotes in it doubled."""
    if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError(
            f"{value!r} holds a character that SQL cannot write (NUL, or half of a "
            "pair). Rename it in the table."
        )
    return quote + value.replace(quote, 2 * quote) + quote


def _label(label) -> str:
    """Write a class label."""
    if isinstance(label, str):
        return text(label)
    if isinstance(label, bool):
        return "TRUE" if label else "FALSE"
    return str(label) if isinstance(label, int) else number(label)
