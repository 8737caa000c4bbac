"""The user's names as identifiers, and words of theirs in comments."""

import keyword
import re
import unicodedata
from collections.abc import Iterable

from treelab.trees.code.splits import Input
from treelab.trees.derived.date_parts import part_words
from treelab.trees.text.names import clean
from treelab.trees.text.nodes import prediction_text, rows_text
from treelab.trees.tree import Tree

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


def heading(tree: Tree, read: list[Input]) -> list[str]:
    """Return the lines that open the code: what it predicts, from which columns."""
    unit = f" ({tree.target_unit})" if tree.target_unit else ""
    leaves = "1 leaf" if tree.n_leaves == 1 else f"{tree.n_leaves:,} leaves"
    return [
        comment(f"Decision tree that predicts {tree.target}{unit}"),
        f"{leaves}, depth {tree.depth}; written by treelab.",
        *input_lines(read),
        *(comment(note) for note in tree.notes),
    ]


def input_lines(read: list[Input]) -> list[str]:
    """Return lines that list the columns that are read."""
    lines = ["It reads the columns"] if read else []
    for source in read:
        unit = f", in {source.unit}" if source.unit else ""
        what = part_words(source.column)
        kind = f"{source.kind}{unit}{f', {what}' if what else ''}"
        lines.append(f"  {comment(f'{source.column} ({kind})')}")
    return lines
