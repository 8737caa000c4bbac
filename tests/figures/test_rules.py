"""A tree's rules as a table: one a leaf, names from a table as they stand."""

import re
from dataclasses import replace

import numpy as np

from tests.figures.small_trees import stump_and_more
from treelab.figures.rules import rule_with_sums, rules_table, sum_names, sum_terms
from treelab.trees.feature import Feature
from treelab.trees.text import leaf_conditions, to_rules
from treelab.trees.tree import Tree


def test_every_leaf_has_a_rule_and_its_class_its_colour():
    tree, _, _ = stump_and_more()
    html = rules_table(tree, {"small": "#111111", "rough": "#222222"})
    assert html.count("<tr><td>") == tree.n_leaves
    assert "#111111" in html
    for rule in to_rules(tree)["rule"]:
        assert rule.replace(">", "&gt;") in html


def test_percentages_of_a_column_have_as_many_decimals():
    tree, _, _ = stump_and_more()
    cells = re.findall(r"<td>([^<]*%)</td>", rules_table(tree, {}))
    assert len(cells) == 2 * tree.n_leaves
    assert {cell.count(".") for cell in cells} == {1}


def test_names_of_a_table_are_escaped():
    tree, _, _ = stump_and_more()
    html = rules_table(replace(tree, target="<b>kind</b>"), {})
    assert "<b>kind</b>" not in html
    assert "&lt;b&gt;kind&lt;/b&gt;" in html


def test_without_sums_a_rule_is_the_plain_one():
    tree, _, _ = stump_and_more()
    assert sum_names(tree) == {}
    plain = dict(zip(to_rules(tree)["leaf"], to_rules(tree)["rule"]))
    for leaf, conditions in leaf_conditions(tree):
        assert rule_with_sums(tree, conditions) == plain[leaf]


def test_a_sum_says_of_which_category_each_of_its_terms_is():
    levels = ("red", "green", "blue")
    codes = [tuple(float(a == b) for b in levels) for a in levels]
    features = [
        Feature("colour", "category", categories=levels, scores=own) for own in codes
    ]
    leaves = [[1.0], [2.0]]
    tree = Tree.complete(features, None, [0.5], [False], leaves, weights=[[3, 2, 1]])
    html = sum_terms(tree, 0)
    for level in levels:
        assert f"[colour is “{level}”]" in html


def test_a_share_of_rows_stands_beside_the_rows_and_not_beside_their_weight():
    tree, X, y = stump_and_more()
    html = rules_table(tree.with_rows(X, y, np.arange(1.0, 1 + len(y))), {})
    assert "<th>rows</th><th>share</th><th>weight</th>" in html


def test_of_hundreds_of_categories_three_are_named():
    times = tuple(f"{hour}:{minute:02d}" for hour in range(10) for minute in range(60))
    when = Feature("time", "category", categories=times, scores=tuple(range(600)))
    tree = Tree.complete((when,), [0], [299.5], [True], [[1.0], [2.0]])
    assert "“9:59”" in to_rules(tree)["rule"].str.cat()
    html = rules_table(tree, {})
    assert "“5:00”, “5:01”, “5:02”, 297 more" in html
    assert len(html) < 1000
