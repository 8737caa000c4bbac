"""How pages write times, scores, rows and runs."""

import re

import streamlit as st

from pages.cached.runs import LoadedRun
from treelab.data.split import SPLIT_NAMES
from treelab.trees.text import rule_text
from treelab.trees.tree import Tree
from treelab.trees.words import counted, significant

LONGEST_RULE = 300  # letters that a sentence may hold


def split_words(loaded: LoadedRun, split: str) -> str:
    """Name a data split with its size, and what its rows are weighted by, if any."""
    return f"{counted_split(loaded, split)}{loaded.run.problem.weighted_words}"


def counted_split(loaded: LoadedRun, split: str) -> str:
    """Name a data split with its size: "test, 114 rows"; of what counts rows alike."""
    return f"{SPLIT_NAMES[split]}, {counted(loaded.n_rows(split), 'row')}"


def fitted_words(loaded: LoadedRun) -> str:
    """Name the rows that a run's model was fitted to: "341 training rows"."""
    split = loaded.fitted_split
    return counted(loaded.n_rows(split), f"{SPLIT_NAMES[split]} row")


def capital(text: str) -> str:
    """Begin a sentence with a capital, and leave names in it as they are."""
    return text[:1].upper() + text[1:]


def with_unit(loaded: LoadedRun, value: float) -> str:
    """Write a value of the target with its unit."""
    return f"{significant(value)} {loaded.model.target_unit}".rstrip()


def named_with_unit(name: object, unit: str) -> str:
    """Write what an axis shows, with its unit: "weight (kg)"."""
    return f"{name} ({unit})" if unit else str(name)


def short_rule(tree: Tree, node: int) -> str:
    """Write a node's rule; where that is long, three terms of each weighted sum."""
    rule = rule_text(tree, node)
    return rule if len(rule) <= LONGEST_RULE else rule_text(tree, node, most=3)


def percents(**columns: str) -> dict:
    """Return how a table shows columns of fractions, by their names: their titles."""
    number = st.column_config.NumberColumn
    return {name: number(title, format="percent") for name, title in columns.items()}


def plain(text: object) -> str:
    """Return text that Streamlit's Markdown shows as it stands."""
    return re.sub(r"([\\`*_{}\[\]()#|~$:<>!+-])", r"\\\1", str(text))
