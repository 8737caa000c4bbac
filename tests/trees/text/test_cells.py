"""Values of one row in words."""

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.figures.small_trees import oblique_tree, stump_and_more
from tests.trees.code.test_code import stump
from tests.trees.make import make_table, make_tree
from treelab.trees.cells import CATEGORY, MISSING, CellForm
from treelab.trees.feature import Feature
from treelab.trees.text import (
    NumberCondition,
    fact_text,
    path_conditions,
    path_lines,
    path_sentences,
    value_within,
)
from treelab.trees.tree import Tree
from treelab.trees.words import parse


def test_a_path_has_one_line_a_column():
    tree, X, _ = stump_and_more()
    assert path_lines(tree, X.iloc[[12]]) == [
        "radius > 9.5 mm: it is 12 mm",
        "texture > 1.5: it is 2",
    ]
    missing = pd.DataFrame({"radius": [np.nan], "texture": [1.0]})
    assert path_lines(tree, missing) == ["radius ≤ 9.5 mm: it is missing"]


def test_a_value_between_a_threshold_and_its_text_is_about_that_text():
    tree = Tree.complete([Feature("a")], [0], [2.9999999], [False], [[1.0], [2.0]])
    for value, line in (
        (2.9995, "a ≤ 2.999: it is about 2.999"),
        (2.99, "a ≤ 2.999: it is 2.99"),
        (3.0, "a > 2.999: it is 3"),
    ):
        assert path_lines(tree, pd.DataFrame({"a": [value]})) == [line]


def test_the_only_category_that_passes_is_written_once():
    job = Feature("job", "category", categories=("a", "b"), scores=(0, 1), unseen=1)
    tree = Tree.complete([job], [0], [0.5], [False], [[1, 0], [0, 1]], classes=(0, 1))
    assert path_lines(tree, pd.DataFrame({"job": ["a"]})) == ["job is “a”"]
    (line,) = path_lines(tree, pd.DataFrame({"job": ["new"]}))
    assert line == "job is “b”: it is “new”, which no training row held"


def test_a_weighted_sum_has_a_line_with_its_value():
    tree, X, _ = oblique_tree()
    (line,) = path_lines(tree, X.iloc[[3]])
    assert line == "radius − 4·<texture> ≤ 10: it is −9"


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_value_lies_within_its_interval_as_shown(seed):
    rng = np.random.default_rng(seed)
    tree, row = make_tree(rng, 12), make_table(rng, 1, missing=0.0)
    conditions = path_conditions(tree, tree.path(row)[-1])
    assert len(path_lines(tree, row)) <= len(conditions)
    for condition in conditions:
        if isinstance(condition, NumberCondition):
            shown = parse(value_within(tree, condition, row).removesuffix(" cm"))
            assert shown > parse(condition.low_text or "−∞")
            assert shown <= parse(condition.high_text or "∞")


def test_a_cell_is_named_as_the_model_reads_it():
    marked = stump(Feature("a", missing_range=(-999, -999)))
    told = [path_lines(marked, pd.DataFrame({"a": [v]}))[0] for v in (-999, -5)]
    assert told == ["a > 0.5: it is missing", "a ≤ 0.5: it is −5"]
    names = Feature("a", "category", categories=("0", "1", "2"), scores=(0, 1, 2))
    told = [
        path_lines(stump(names), pd.DataFrame({"a": [v]}))[0] for v in (True, 2.0, 7)
    ]
    assert told[0] == "a is not “0”: it is “1”"
    assert told[1].endswith("it is “2”")
    assert told[2].endswith("it is “7”, which no training row held")


def test_a_cell_in_words_is_what_its_form_makes_of_it():
    form = CellForm(missing=(*MISSING, "-999"), decimal=",", thousands=".")
    tree = stump(Feature("0", form=form))
    for cell, value in ((-999, "missing"), ("-999", "missing"), ("1.234", "1234")):
        (line,) = path_lines(tree, pd.DataFrame({0: [cell]}))
        assert line == f"0 > 0.5: it is {value}"
    names = Feature("a", "category", "", 0, ("x", "y"), (0, 1), form=CATEGORY)
    rows = pd.DataFrame({"a": ["?", " y", "z"]})
    assert "it is missing" in path_sentences(stump(names), rows[:1])[0]
    for node in (1, 2):
        (condition,) = path_conditions(stump(names), node)
        here = stump(names).apply(rows) == node
        assert (condition.holds(rows) == here).all()


def test_a_split_on_missing_values_alone_has_no_bound_in_words():
    for form in (None, CellForm("date", date="ISO8601")):
        tree = stump(Feature("a", form=form), np.inf)
        (condition,) = path_conditions(tree, 1)
        assert condition.text(True) == "a is known"
        assert fact_text(tree, condition, "3") == "a is 3"
