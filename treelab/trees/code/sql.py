"""A tree as one CASE expression of standard SQL; NULL and NaN are missing values.

Databases hold that NaN is larger than every number (PostgreSQL, DuckDB) or that each
comparison with it is false, and SQLite that text is larger than every number. So a
condition is written for that side of a split which missing values do not take, such
that it holds of numbers alone, and ``ELSE`` takes all that is missing.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from fractions import Fraction
from math import inf, isfinite, isinf, ulp

import numpy as np

from treelab.trees.code.writer import (
    YEARS,
    CategoryTest,
    Exported,
    Input,
    NumberTest,
    SumTest,
    Term,
    Writer,
    are_truths,
    as_written,
    check_characters,
    comment,
    heading,
    leaf_comment,
    refuse_ensemble,
    split_test,
)
from treelab.trees.dates import last_moment
from treelab.trees.tree import OBLIQUE, Tree, sum_up

# Some databases allow ten nested CASEs, and SQLite's parser about twenty; what lies
# deeper is one list of leaves.
LEVELS = 8
_LARGEST = 1.7976931348623157e308
# Of a column of any type; as a number, 'NaN' cannot be compared with whole numbers.
_IS_NAN = "CAST({} AS VARCHAR) IN ('NaN', 'nan')"
_WHOLE = 2.0**53  # from here on not every whole number is a float64


def to_sql(tree: Exported) -> str:
    """Write a tree as a CASE expression.

    Parameters
    ----------
    tree : Tree or PruningPath

    Returns
    -------
    str
        Comments, then an expression of the columns, quoted as standard SQL has it,
        to be put after SELECT: a label, or a value of the target; of several outputs
        so many expressions with commas between, each AS its name. It predicts as
        ``tree.predict`` does, NULL where that raises ValueError because nothing
        stands for a missing value. Number columns may have any type of numbers; NULL
        and NaN are missing, and so is text in a number column of SQLite, which has no
        types (PostgreSQL and DuckDB refuse it). Columns of dates are of a type of dates
        or of times, without a time zone or in a session of UTC, or text as ISO 8601 has
        it; other cells are missing. Trees with weighted sums read years with decimals
        in their place, and predict NULL of text that is a date. A label that is not
        text is a number or TRUE and FALSE, unless labels are of several types: then all
        are text.

    Raises
    ------
    ValueError
        If it is an ensemble, or a name or a category holds a character, or a weighted
        sum an infinite number, that SQL has no way to write.
    """
    model = as_written(tree)
    refuse_ensemble(model, "SQL")
    assert isinstance(model, Tree)  # the others were refused
    tree = model
    case = _Case(tree)
    lines = [f"-- {line}" for line in heading(tree, case.inputs)]
    if case.inputs:
        lines.append("-- NULL and NaN are missing values.")
    lines += _alike(tree, {source.column for source in case.inputs})
    body = case.lines() if not tree.outputs else _several(tree)
    return "\n".join([*lines, *body]) + "\n"


def _alike(tree: Tree, read: set[str]) -> list[str]:
    """Warn of columns that some databases take for one that is ``read``."""
    by_name: dict[str, list[str]] = {}
    for column in dict.fromkeys(feature.column for feature in tree.features):
        by_name.setdefault(column.casefold(), []).append(column)
    return [
        f"-- DuckDB and SQLite take names for one that differ by case alone; rename "
        f"{' or '.join(comment(name) for name in names)} where this is run there."
        for names in by_name.values()
        if len(names) > 1 and read & {*names}
    ]


def _several(tree: Tree) -> list[str]:
    """Write an expression for each output, named by it."""
    each = [_Case(tree.of_output(j)).lines() for j in range(len(tree.outputs))]
    for place, (lines, name) in enumerate(zip(each, tree.outputs)):
        lines[-1] += f" AS {_quoted(name, chr(34))}" + "," * (place + 1 < len(each))
    return [line for lines in each for line in lines]


class _Case(Writer):
    """Writes the branches of one tree."""

    def __init__(self, tree: Tree):
        super().__init__(tree)
        self.n_leaves = sum_up(tree, tree.is_leaf.astype(int))
        self.dates = _dates(tree)
        self.inputs = [
            replace(source, kind="date", unit="", missing_range=None)
            if source.column in self.dates
            else source
            for source in self.inputs
        ]
        types = {type(label) for label in tree.classes or ()}
        self.as_text = len(types) > 1

    def lines(self) -> list[str]:
        """Write the expression; one of numbers has the type of a column of doubles."""
        before = "" if self.tree.classes is not None else "  "
        lines = self.nested(0, before, LEVELS)
        # Of dates SQLite, which has no types, would take text for missing.
        years = [each for each in self.inputs if each.unit == YEARS]
        for name in map(quoted_name, years):
            mistaken = f"{before}CASE WHEN {_looks_like_date(name)} THEN NULL ELSE"
            lines = [mistaken, *lines, f"{before}END"]
        return ["CAST(", *lines, "AS DOUBLE PRECISION)"] if before else lines

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
        condition, left = self.known_side(node)
        first, other = tree.left[node], tree.right[node]
        if not left:
            first, other = other, first
        lines.append(f"{before}  WHEN {condition} THEN")
        lines += self.nested(int(first), before + "    ", levels - 1)
        lines.append(f"{before}  ELSE")
        lines += self.nested(int(other), before + "    ", levels - 1)
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
            left_first = bool(self.n_leaves[left] <= self.n_leaves[right])
            first, later = (left, right) if left_first else (right, left)
            waiting.append((later, conditions))
            condition, is_left = self.known_side(node)
            if is_left != left_first:  # it holds, too, where the other is unknown
                condition = f"CASE WHEN {condition} THEN 0 ELSE 1 END = 1"
            waiting.append((first, (*conditions, condition)))
        return [*lines, f"{before}END"]

    def unknown(self, node: int) -> str:
        """Write when a weighted sum lacks a number; "" where it never does."""
        return " OR ".join(f"{value} IS NULL" for value in self.may_lack(node))

    def number(self, value: float) -> str:
        return number(value)

    def known_side(self, node: int) -> tuple[str, bool]:
        """Write the condition that leads to the side that missing values do not take.

        It does not hold where the value is missing. Returned with whether the side is
        the left one, as it is of a sum.
        """
        test = split_test(self.tree, node)
        if isinstance(test, SumTest):
            return self.sum_test(test), True
        left = not test.missing_left
        if test.source.column in self.dates:
            assert isinstance(test, NumberTest)
            return _date_side(test, left), left
        name = quoted_name(test.source)
        if isinstance(test, NumberTest):
            return _number_side(name, test.threshold, left), left
        categories = self.tree.features[self.tree.feature[node]].categories
        test = replace(test, listed=_held(test.listed, categories))
        return _category_side(name, test, left, categories), left

    def sum_test(self, test: SumTest) -> str:
        total = self.sum(test.terms) or "0e0"
        if test.threshold == inf:  # infinity minus infinity is no number
            return _is_number(f"({total})")
        return _compared(total, test.threshold, True)

    def class_prediction(self, leaf: int) -> str:
        classes = self.tree.classes or ()
        label = classes[self.tree.predicted_class[leaf]]
        return _label(str(label) if self.as_text else label)

    def value(self, term: Term) -> str:
        """Write a term's number; NULL where it has none."""
        name = quoted_name(term.source)
        if term.scores is None:
            return _number(name, None if term.may_fail else term.fill)
        missing = f"{name} IS NULL"
        categories = self.tree.features[term.index].categories
        if _are_numbers(categories):
            missing += f" OR {_IS_NAN.format(name)}"
        parts = [f"WHEN {missing} THEN {number(term.fill)}"]
        parts += [
            f"WHEN {_among(name, [category], categories)} THEN {number(score)}"
            for category in _held(term.scores, categories)
            if (score := term.scores[category]) != term.unseen
        ]
        return _double(f"CASE {' '.join(parts)} ELSE {number(term.unseen)} END")


def _dates(tree: Tree) -> set[str]:
    """Return the columns whose splits compare dates; none where one is added up."""
    if (tree.feature == OBLIQUE).any() or tree.leaf_weights is not None:
        return set()
    found = set()
    for node in np.flatnonzero(tree.feature >= 0):
        feature, threshold = tree.features[tree.feature[node]], tree.threshold[node]
        if feature.is_date:
            if last_moment(threshold) is None and isfinite(threshold):
                return set()
            found.add(feature.column)
    return found


def _date_side(test: NumberTest, left: bool) -> str:
    """Write when a date goes to a side; never where it is NULL, or no date (in SQLite).

    SQLite compares text, in which a time stands behind a space or a T. Databases with
    dates read both marks alike, and for a column of days they leave the time out.
    """
    name = _quoted(test.source.column, '"')
    is_date = _looks_like_date(name)
    last = last_moment(test.threshold)
    if last is None:
        return is_date if left == (test.threshold > 0) else "1 = 0"
    day, time = f"{last:%Y-%m-%d}", f"{last:%H:%M:%S.%f}"
    if time == "23:59:59.999999":
        before = f"{name} <= '{day}T{time}'"
    else:
        of_that_day = f"{name} BETWEEN '{day}T00:00:00' AND '{day}T{time}'"
        before = f"({name} <= '{day} {time}' OR {of_that_day})"
    return f"{before if left else f'NOT {before}'} AND {is_date}"


def _looks_like_date(name: str) -> str:
    """Write that a column holds a date, or text as ISO 8601 has it."""
    return f"CAST({name} AS VARCHAR) LIKE '____-__-__%'"


def _number_side(name: str, threshold: float, left: bool) -> str:
    """Write when a number goes to a side; never where it is NULL, NaN or text."""
    if threshold == inf:
        return _is_number(name) if left else "1 = 0"
    # Whole numbers are rounded as the tree reads them; SQLite compares them unrounded.
    tested = _number(name, None) if abs(threshold) >= _WHOLE else name
    condition = _compared(tested, threshold, left)
    return condition if left else f"{condition} AND {_is_number(name)}"


def _compared(tested: str, threshold: float, left: bool) -> str:
    """Write that a number is at most, or above, a threshold below infinity.

    A literal alone is decimal in some databases, where what it is compared with then
    is, too, and SQLite compares text with it as text; so it is cast.
    """
    if threshold == -inf:  # only minus infinity itself goes left
        return f"{tested} {'<' if left else '>='} {_double(number(-_LARGEST))}"
    return f"{tested} {'<=' if left else '>'} {_double(number(threshold))}"


def _is_number(name: str) -> str:
    """Write that a column holds a number; not NULL, NaN, or text (in SQLite).

    NaN and text are larger than each number, or no comparison with them holds, so none
    is at most 1e308. Nor is infinity, but its opposite is below each number, which that
    of NaN is not. No literal of infinity itself is read by all databases.
    """
    return f"({name} <= {_double('1e308')} OR 0e0 - {name} < -1e308)"


def _number(name: str, fill: float | None) -> str:
    """Write a column's number as a double; ``fill``, or NULL, where it has none."""
    otherwise = "" if fill is None else f" ELSE {number(fill)}"
    return f"CASE WHEN {_is_number(name)} THEN {_double(name)}{otherwise} END"


def _double(expression: str) -> str:
    """Write an expression as a float64."""
    return f"CAST({expression} AS DOUBLE PRECISION)"


def _category_side(
    name: str, test: CategoryTest, left: bool, categories: Collection[str]
) -> str:
    """Write when a category goes to a side; never where it is NULL, or may be NaN."""
    inside = test.inside == left
    among = _among(name, test.listed, categories, "IN" if inside else "NOT IN")
    if inside:
        return among if test.listed else "1 = 0"
    known = among if test.listed else f"{name} IS NOT NULL"
    numbers = _are_numbers(categories)
    return f"{known} AND NOT {_IS_NAN.format(name)}" if numbers else known


def _among(
    name: str, listed: Collection[str], categories: Collection[str], word: str = "IN"
) -> str:
    """Write that a column holds one of the listed categories, or none of them.

    True and false are 1 and 0 in SQLite.
    """
    if are_truths(categories):
        truths = {"true": "1", "false": "0"}
        numbers = {truths[low] for each in listed if (low := each.lower()) in truths}
        listed = [*listed, *sorted(numbers)]
        name = f"CAST({name} AS VARCHAR)"
    return f"{name} {word} ({', '.join(map(text, listed))})"


def _held(texts: Iterable[str], categories: Collection[str]) -> tuple[str, ...]:
    """Return the texts that a column may hold: one of numbers takes no others."""
    numbers = _are_numbers(categories)
    return tuple(each for each in texts if not numbers or each in categories)


def _are_numbers(categories: Collection[str]) -> bool:
    """Whether all categories are numbers, so that a column of doubles may hold them."""
    try:
        return all(isfinite(float(category)) for category in categories)
    except ValueError:
        return False


def number(value: float) -> str:
    """Write a number so that databases read back the same float64.

    It has an exponent, without which DuckDB reads a decimal number, not a double.

    Databases older than 2023 read a literal with an error of about a thousandth of
    the last place (SQLite 3.40 did so for 1 in 10,000). That matters only where the
    shortest text lies almost halfway to a neighbour; 17 digits never do. ValueError if
    it is infinite, which no literal is in all databases.
    """
    value = float(value)
    if value != value:
        return "NULL"
    if isinf(value):
        raise ValueError(
            "A weighted sum of this tree adds an infinite number, which SQL cannot "
            "write. Export Python, C or ONNX."
        )
    shortest = repr(value)
    off = abs(Fraction(shortest) - Fraction(value))
    # Within 0.45 of the last place is well within the half that rounds right.
    written = shortest if off * 20 <= 9 * Fraction(ulp(value)) else f"{value:.17g}"
    return written if "e" in written else f"{written}e0"


def text(value: str) -> str:
    """Write text as a literal; ValueError for a character that SQL cannot write."""
    return _quoted(value, "'")


def quoted_name(source: Input) -> str:
    """Write a column's name as a quoted identifier; NULL where it counts as missing."""
    name = _quoted(source.column, '"')
    if source.missing_range is None:
        return name
    low, high = map(number, source.missing_range)
    return f"CASE WHEN {name} BETWEEN {low} AND {high} THEN NULL ELSE {name} END"


def _quoted(value: str, quote: str) -> str:
    """Put text into quotes, the quotes in it doubled."""
    check_characters(value, "SQL cannot write")
    return quote + value.replace(quote, 2 * quote) + quote


def _label(label) -> str:
    """Write a class label."""
    if isinstance(label, str):
        return text(label)
    if isinstance(label, bool):
        return "TRUE" if label else "FALSE"
    return str(label) if isinstance(label, int) else number(label)
