"""What the writers of code share: lines, names, splits, nesting."""

import keyword
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import ClassVar

import numpy as np

from treelab.trees.adapters.forest import Forest
from treelab.trees.cells import CellForm
from treelab.trees.date_parts import part_words
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.feature import Feature
from treelab.trees.logits import FAR_BEHIND, unscaled_weights
from treelab.trees.pruning_path import PruningPath
from treelab.trees.text import prediction_text, rows_text, score_goes_left, split_text
from treelab.trees.tree import OBLIQUE, Tree
from treelab.trees.words import clean, counted, listed

Exported = Tree | WeightedTrees | Forest | PruningPath
YEARS = "years with decimals"  # unit of dates
_TRUTHS = {"true", "false"}

# What a split tests, free of any language.


@dataclass(frozen=True)
class Input:
    """A column that the code reads: its name, kind ("number", "category"), its unit.

    Where the code compares dates as such, their kind is "date".
    Numbers from the first to the second of ``missing_range`` count as missing.
    ``part`` says which part of which dates it is, where it is one.
    """

    column: str
    kind: str
    unit: str
    missing_range: tuple[float, float] | None = None
    form: CellForm | None = None  # how text of the training rows was written
    part: tuple[str, str, str] | None = None


@dataclass(frozen=True)
class NumberTest:
    """Left where a number is at most ``threshold``, or missing and ``missing_left``."""

    source: Input
    threshold: float
    missing_left: bool


@dataclass(frozen=True)
class CategoryTest:
    """Left where a category is one of ``listed``, or, not ``inside``, where it is none.

    Categories that no training row held are among those that are not listed.
    """

    source: Input
    listed: tuple[str, ...]
    inside: bool
    missing_left: bool
    known: tuple[str, ...]  # the categories, and the marks of missing values


@dataclass(frozen=True)
class Term:
    """A weight times a number column, or times the score of a category."""

    index: int  # place of the feature in the tree
    source: Input
    weight: float
    fill: float  # number that stands for a missing value; NaN where none is known
    # Category columns: the number of each known category, never NaN unless ``fill`` is.
    scores: dict[str, float] | None = None
    unseen: float = float("nan")  # category columns: the number of every other category

    @property
    def may_fail(self) -> bool:
        """Whether a row may have no number here."""
        return isnan(self.fill)


@dataclass(frozen=True)
class SumTest:
    """Left where the terms, added up in their order, are at most ``threshold``."""

    terms: tuple[Term, ...]
    threshold: float


Test = NumberTest | CategoryTest | SumTest


def source_of(feature: Feature) -> Input:
    """Return the column that a feature reads."""
    unit = feature.unit or (YEARS if feature.is_date else "")
    missing, part = feature.missing_interval, feature.part
    return Input(feature.column, feature.kind, unit, missing, feature.form, part)


def are_truths(categories: Collection[str]) -> bool:
    """Whether the categories of a column are true and false, however they are spelt."""
    return {category.lower() for category in categories} <= _TRUTHS


def as_written(model: Exported) -> Tree | WeightedTrees:
    """Return a model as code writes it: a forest of another program as weighted trees.

    A pruning path is its tree. A feature reads True, TRUE and true as one category;
    code reads what it lists, so that each spelling is a category of the model returned.
    """
    if isinstance(model, Forest):
        model = model.to_weighted_trees()
    if isinstance(model, PruningPath):
        model = model.as_tree()
    return replace(model, features=tuple(map(_with_spellings, model.features)))


def _with_spellings(feature: Feature) -> Feature:
    """Return a feature that lists true and false in each spelling, if it knows one."""
    words = [category.lower() for category in feature.categories]
    scores: dict[str, float] = {}
    for category, word, score in zip(feature.categories, words, feature.scores):
        spelt = [category]
        if word in _TRUTHS and words.count(word) == 1:
            spelt += [word.title(), word.upper(), word]
        scores |= dict.fromkeys(spelt, score)
    return replace(feature, categories=tuple(scores), scores=tuple(scores.values()))


def scores_of(feature: Feature) -> dict[str, float]:
    """Return the score of each category, and of each text that means none: NaN."""
    marks = () if feature.form is None else feature.form.held
    return dict.fromkeys(marks, nan) | feature.scored


def inputs(model: Tree | WeightedTrees) -> list[Input]:
    """Return the columns that a model reads, in the order of its features."""
    return list(dict.fromkeys(source_of(model.features[j]) for j in model.read))


def split_test(tree: Tree, node: int) -> Test:
    """Return what one split of a tree tests."""
    j = tree.feature[node]
    threshold = float(tree.threshold[node])
    if j == OBLIQUE:
        assert tree.weights is not None  # as of every tree with an oblique split
        return SumTest(terms(tree, tree.weights[node]), threshold)
    feature = tree.features[j]
    missing_left = bool(tree.missing_left[node])
    if feature.kind == "number":
        return NumberTest(source_of(feature), threshold, missing_left)
    sides = {
        category: score_goes_left(score, threshold, missing_left)
        for category, score in scores_of(feature).items()
    }
    inside = not score_goes_left(feature.unseen, threshold, missing_left)
    listed = tuple(category for category, left in sides.items() if left == inside)
    source, known = source_of(feature), tuple(sides)
    return CategoryTest(source, listed, inside, missing_left, known)


def terms(tree: Tree, weights: np.ndarray) -> tuple[Term, ...]:
    """Return the terms of a weighted sum, in the order in which the tree adds them."""
    found = []
    for j in np.flatnonzero(weights).tolist():
        feature = tree.features[j]
        own, fill = scores_of(feature), feature.fill
        # A score that is NaN is missing, so ``fill`` stands for it.
        scores = {name: fill if isnan(score) else score for name, score in own.items()}
        unseen = fill if isnan(feature.unseen) else feature.unseen
        known = (None, nan) if feature.kind == "number" else (scores, unseen)
        found.append(Term(j, source_of(feature), float(weights[j]), fill, *known))
    return tuple(found)


# What code in any language shares: the columns it reads, its predictions.


class Writer(ABC):
    """Writes one ``tree``; a language adds how its numbers, columns and labels look.

    ``inputs`` are the columns that the code reads.
    """

    def __init__(self, tree: Tree):
        self.tree = tree
        self.inputs = inputs(tree)

    @abstractmethod
    def number(self, value: float) -> str:
        """Write a number that reads back as the same float64."""

    @abstractmethod
    def value(self, term: Term) -> str:
        """Write the number that a term multiplies by its weight."""

    @abstractmethod
    def class_prediction(self, leaf: int) -> str:
        """Write a leaf's class, or its probabilities."""

    def several(self, leaf: int) -> str:
        """Write the numbers that a leaf of several outputs predicts."""
        raise NotImplementedError  # the language refuses such trees

    def prediction(self, leaf: int) -> str:
        """Write what a leaf predicts."""
        tree = self.tree
        if tree.classes is not None:
            return self.class_prediction(leaf)
        if tree.outputs:
            return self.several(leaf)
        if tree.leaf_weights is None:
            return self.number(float(tree.value[leaf, 0]))
        assert tree.leaf_bias is not None  # as of every tree with linear leaves
        bias = self.number(float(tree.leaf_bias[leaf, 0]))
        added = self.sum(terms(tree, tree.leaf_weights[leaf]))
        return f"{bias} + {added}" if added else bias

    def sum_test(self, test: SumTest) -> str:
        """Write that a weighted sum goes left."""
        return f"{self.sum(test.terms) or '0.0'} <= {self.number(test.threshold)}"

    def sum(self, added: tuple[Term, ...]) -> str:
        """Write a weighted sum, its terms in order."""
        return " + ".join(f"{self.number(t.weight)} * {self.value(t)}" for t in added)

    def may_lack(self, node: int) -> list[str]:
        """Write the numbers that a split's sum may lack; none for other splits."""
        test = split_test(self.tree, node)
        if not isinstance(test, SumTest):
            return []
        return list(dict.fromkeys(self.value(t) for t in test.terms if t.may_fail))


# The user's names as identifiers, and words of theirs in comments.


# Keywords of C and C++, and words that headers or compilers define as macros.
_C_WORDS = """alignas alignof and asm atomic auto bool break case catch char class
complex const constexpr continue default delete do double else enum errno explicit
export extern far float for friend generic goto i386 if imaginary inline int linux long
main mutable namespace near new noreturn not null nullptr operator or private protected
public register restrict return short signed sizeof static static_assert struct switch
template this thread_local throw true false try typedef typename typeof typeof_unqual
union unix unsigned using virtual void volatile while xor"""
_PYTHON_WORDS = [word.lower() for word in keyword.kwlist]
_TAKEN = {*_C_WORDS.split(), *_PYTHON_WORDS, "row", "nan", "inf", "isnan"}
_LONGEST = 40  # letters of an identifier
_MOST = 4  # categories, or columns of a sum, that a comment lists


def identifiers(names: Iterable[str]) -> list[str]:
    """Return a lower-case ASCII identifier for each name; no two are alike.

    None is a word of Python or C. A name without a letter becomes "x".
    """
    taken, found = set(_TAKEN), []
    for name in names:
        ascii_name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore")
        word = re.sub(r"[^a-z0-9]+", "_", ascii_name.decode().lower()).strip("_")
        word = word[:_LONGEST].rstrip("_") or "x"
        word = f"x_{word}" if word[0].isdigit() else word
        chosen, i = word, 2
        while chosen in taken:
            chosen, i = f"{word}_{i}", i + 1
        taken.add(chosen)
        found.append(chosen)
    return found


def check_characters(value: str, cannot: str) -> None:
    """Raise ValueError for text with a character that a language ``cannot`` take."""
    if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError(
            f"{value!r} holds a character that {cannot} (NUL, or half of a pair). "
            "Rename it in the table."
        )


def comment(text: object) -> str:
    """Return text on one line that ends no comment in Python, SQL or C."""
    one_line = clean(text).strip("\u2068\u2069")
    one_line = one_line.replace("*/", "* /").replace("/*", "/ *")
    # C reads "??/" as a backslash, and a backslash joins the next line on.
    return one_line.replace("??", "? ?").rstrip("\\")


def leaf_comment(tree: Tree, leaf: int) -> str:
    """Return what a leaf predicts and how many training rows it held, as a comment."""
    prediction = prediction_text(tree, leaf, most=_MOST)
    rows = rows_text(tree, leaf)
    return comment(f"{prediction} · {rows}" if rows else prediction)


def heading(model: Tree | WeightedTrees, read: list[Input]) -> list[str]:
    """Return the lines that open the code: what it predicts, from which columns."""
    unit = f" ({model.target_unit})" if model.target_unit else ""
    dates: list[str] = []
    if isinstance(model, WeightedTrees):
        what = f"Ensemble of decision trees that predicts {model.target}"
        by_row = "by the leaf that a row reaches"
        how = "alike for every row" if _one_weight(model) else by_row
        if model.n_deciding < model.n_estimators:
            how += f", at most {model.n_deciding} of them"
        size = f"{model.n_estimators:,} trees of depth {model.depth}, each weighted "
        size += how
    else:
        what = f"Decision tree that predicts {predicted_names(model)}"
        dates = date_lines(model, read)
        size = f"{counted(model.n_leaves, 'leaf', 'leaves')}, depth {model.depth}"
    lines = [comment(f"{what}{unit}"), f"{size}; written by treelab."]
    return [*lines, *input_lines(read), *dates, *map(comment, model.notes)]


def predicted_names(tree: Tree) -> str:
    """Name what a tree predicts: "price", "width, height", "quantile 0.9 of price"."""
    names = ", ".join(tree.outputs) or tree.target
    return f"{names} of {tree.target}" if tree.levels else names


def date_lines(tree: Tree, read: list[Input]) -> list[str]:
    """Return lines that say how dates are read, and which dates thresholds are."""
    if any(source.kind == "date" for source in read):
        return ["Dates are of a type of dates or times, or written as 2020-01-31 12:30"]
    found = {}
    for node in np.flatnonzero(tree.feature >= 0).tolist():
        if tree.features[tree.feature[node]].is_date:
            found[float(tree.threshold[node])] = split_text(tree, node, missing=False)
    if not found:
        return []
    lines = [f"  {value!r} or less: {comment(found[value])}" for value in sorted(found)]
    return [f"Dates are {YEARS} (2019.5 is the middle of 2019)", *lines]


def category_measure(source: Input) -> str:
    """Return the unit of the numbers that a category's texts are; "" of others."""
    form = source.form
    if source.kind != "category" or form is None or source.part is not None:
        return ""
    units = {"date": YEARS, "number": form.unit}
    return units.get(form.kind, "")


def input_lines(read: list[Input]) -> list[str]:
    """Return lines that list the columns that are read."""
    lines = ["It reads the columns"] if read else []
    for source in read:
        unit = f", in {source.unit}" if source.unit else ""
        if measure := category_measure(source):
            unit = f": numbers in {measure}, as text"
        what = part_words(source.part)
        kind = f"{source.kind}{unit}{f', {what}' if what else ''}"
        lines.append(f"  {comment(f'{source.column} ({kind})')}")
    return lines


# A tree as nested ifs, cut into functions where it is deep.
#
# Compilers and readers give up on deep nesting (Python at 100 levels), so a branch that
# begins on every ``LEVELS``-th level is a function of its own.


LEVELS = 12


class NestedWriter(Writer):
    """Writes a tree as nested ifs; ``names`` has an identifier for each column."""

    # Before, between and after the sides of a choice; a comment.
    opening: ClassVar[str]
    otherwise: ClassVar[str]
    closing: ClassVar[str | None]
    remark: ClassVar[str]

    def __init__(self, tree: Tree):
        super().__init__(tree)
        self.names = dict(zip(self.inputs, identifiers(i.column for i in self.inputs)))
        # Feature index to the lines of its table, or function, of scores.
        self.scores: dict[int, list[str]] = {}

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
        tree = self.tree

        def write(node: int, before: str) -> list[str]:
            if tree.is_leaf[node]:
                return [before + line for line in self._leaf(node)]
            if node != root and tree.level[node] % LEVELS == 0:
                return [before + self.call(node)]
            lines = [before + line for line in self.guard(node)]
            lines.append(before + self.opening.format(self._test(node)))
            lines += write(int(tree.left[node]), before + "    ")
            lines.append(before + self.otherwise)
            lines += write(int(tree.right[node]), before + "    ")
            return lines if self.closing is None else [*lines, before + self.closing]

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
        comment = self.remark.format(leaf_comment(self.tree, node))
        if self.tree.leaf_weights is None:
            return [line + comment]
        return [comment.strip(), line]


# What the code of an ensemble needs of it, free of any language.


FAR_BELOW = f"{FAR_BEHIND:.0e}"  # as it is written


def fixed_weights(model: WeightedTrees) -> np.ndarray | None:
    """Return the weight of each tree where it is the same for every row, (E,).

    None where weights differ by leaf, or where leaves hold logits or classes have
    weights: the weighted mean of the leaves is no prediction yet.
    """
    has_logits = model.classes is not None and model.leaf_output == "logits"
    if not _one_weight(model) or has_logits or model.class_weights is not None:
        return None
    return unscaled_weights(
        model.leaf_weight[:, 0], model.weighting, model.max_deciders
    )


def _one_weight(model: WeightedTrees) -> bool:
    """Whether each tree has one weight, whatever leaf of it a row reaches."""
    return bool((model.leaf_weight == model.leaf_weight[:, :1]).all())


def refuse_several(tree: Tree, language: str) -> None:
    """Raise ValueError where a tree predicts several numbers."""
    if tree.outputs:
        raise ValueError(
            f"{language} code of a tree predicts one number, and this tree predicts "
            f"{len(tree.outputs)}: {listed(tree.outputs)}. Write one of them, "
            f"tree.of_output({tree.outputs[0]!r}) or --of in the shell, or take "
            "Python, SQL or ONNX."
        )


def refuse_ensemble(model: object, language: str) -> None:
    """Raise ValueError for an ensemble in a language that cannot hold one."""
    if isinstance(model, WeightedTrees):
        why = ""
        if fixed_weights(model) is None:
            why = ", whose weights depend on the row or the class, or of logits"
        raise ValueError(
            f"{language} cannot hold this ensemble{why}. Export ONNX, Python or C, or "
            "one of its trees."
        )
