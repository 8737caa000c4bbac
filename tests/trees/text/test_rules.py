import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trees.make import CATEGORIES, make_table, make_target, make_tree
from treelab.trees.feature import Feature
from treelab.trees.text import (
    NumberCondition,
    ObliqueCondition,
    path_conditions,
    rule_text,
    to_rules,
    to_text,
)
from treelab.trees.tree import Tree
from treelab.trees.words import parse

SEEDS = st.integers(0, 2**32 - 1)
CASES = {"seed": SEEDS, "n_leaves": st.integers(1, 30)}


@settings(max_examples=60)
@given(**CASES, oblique=st.sampled_from([0.0, 0.4]))
def test_each_row_meets_the_conditions_of_its_leaf_and_of_no_other(
    seed, n_leaves, oblique
):
    rng = np.random.default_rng(seed)
    tree = make_tree(rng, n_leaves, oblique=oblique, infinite=0.1)
    table = make_table(rng, 30)
    leaf = tree.apply(table)
    for node in np.flatnonzero(tree.is_leaf):
        meets = np.ones(len(table), dtype=bool)
        for condition in path_conditions(tree, node):
            meets &= condition.holds(table)
        np.testing.assert_array_equal(meets, leaf == node)


def meets(rule: str, row: dict) -> bool:
    """Whether a person who reads the rule would say that the row meets it."""
    return rule == "every row" or all(holds(c, row) for c in rule.split(" and "))


def holds(condition: str, row: dict) -> bool:
    """Whether the row meets one condition, by its words alone."""
    said, *extras = re.split(r" \((?=or )", condition.replace(")", ""))
    name = re.search("width|age|bmi|job", said)[0]
    cell = row[name]
    if cell is None or cell != cell:
        return "or missing" in extras or said == f"{name} is missing"
    if said == f"{name} is missing" or said == f"no {name} passes":
        return False
    if said == f"{name} is known":
        return True
    if name == "job":
        if "is a new category" in said:
            return cell not in CATEGORIES
        if cell not in CATEGORIES and "or new" in extras:
            return True
        return (cell in re.findall("“(.*?)”", said)) != (" not " in said)
    said = said.removesuffix(" cm")
    low, high = re.match(r"(?:(\S+) < )?\w+(?: ≤ (\S+))?", said).groups()
    if above := re.search("> (.*)", said):
        low = above[1]
    return parse(low or "−∞") < cell <= parse(high or "∞")


@settings(max_examples=100)
@given(**CASES, missing=st.sampled_from([0.0, 0.2]))
def test_a_reader_of_the_rules_sends_each_training_row_to_its_leaf(
    seed, n_leaves, missing
):
    rng = np.random.default_rng(seed)
    table = make_table(rng, 40, missing=missing)
    tree = make_tree(rng, n_leaves, infinite=0.1)
    tree = tree.with_rows(table, make_target(rng, tree, len(table)))
    leaf = tree.apply(table)
    rules = to_rules(tree).set_index("leaf")["rule"]
    for node, row in zip(leaf, table.to_dict("records")):
        assert [n for n in rules.index if meets(rules[n], row)] == [node]


def test_conditions_on_one_column_become_one_interval():
    tree = Tree.complete(
        [Feature("petal length", unit="cm"), Feature("sepal width", unit="cm")],
        [0, 0, 0, 1, 1, 0, 1],
        [4.9, 2.1, 6.0, 3.0, 3.0, 5.5, 3.0],
        [False] * 7,
        np.arange(8.0)[:, None],
    )
    rules = to_rules(tree).set_index("leaf")["rule"]
    assert rules[10] == "2.1 < petal length ≤ 4.9 cm and sepal width > 3 cm"
    assert rules[12] == "5.5 < petal length ≤ 6.0 cm"
    assert rules[7] == "petal length ≤ 2.1 cm and sepal width ≤ 3 cm"
    assert rule_text(tree, 0) == "every row"
    assert rule_text(tree, 4) == "2.1 < petal length ≤ 4.9 cm"


def test_sets_of_categories_are_intersected():
    first, second = (
        Feature("job", "category", categories=("A", "B", "C"), scores=s, unseen=9)
        for s in ((1, 2, 3), (3, 1, 2))
    )
    tree = Tree.complete(
        [first, second], [0, 1, 1], [2.5, 2.5, 2.5], [False] * 3, np.zeros((4, 1))
    )
    assert rule_text(tree, 3) == "job is “B”"
    assert rule_text(tree, 4) == "job is “A”"
    assert rule_text(tree, 5) == "job is “C”"
    assert rule_text(tree, 6) == "job is a new category"


def test_a_rule_that_nothing_meets_says_so():
    tree = Tree.complete(
        [Feature("a")], [0, 0, 0], [1.0, 2.0, 3.0], [False] * 3, np.zeros((4, 1))
    )
    assert rule_text(tree, 4) == "no a passes"
    (condition,) = path_conditions(tree, 4)
    assert isinstance(condition, NumberCondition)
    assert not condition.holds(pd.DataFrame({"a": [0.0, 1.5, 9.0, np.nan]})).any()


@pytest.mark.parametrize("n_classes", [0, 3])
def test_the_table_of_rules_tells_shares_and_answers(n_classes):
    rng = np.random.default_rng(2)
    tree = make_tree(rng, 9, n_classes=n_classes, infinite=0)
    table = make_table(rng, 200)
    unseen = to_rules(tree)
    assert unseen["share"].isna().all()
    tree = tree.with_rows(table, make_target(rng, tree, 200))
    rules = to_rules(tree)
    assert list(rules.columns) == [
        "leaf",
        "rule",
        "n_rows",
        "share",
        "prediction",
        "confidence",
    ]
    assert sorted(rules["leaf"]) == np.flatnonzero(tree.is_leaf).tolist()
    assert rules["n_rows"].is_monotonic_decreasing
    assert rules["share"].sum() == pytest.approx(1)
    by_leaf = rules.set_index("leaf")["prediction"]
    assert by_leaf[tree.apply(table)].tolist() == tree.predict(table).tolist()
    assert rules["confidence"].isna().all() == (n_classes == 0)


def test_a_linear_leaf_has_its_sum_beside_its_rule():
    tree = make_tree(np.random.default_rng(0), 3, n_classes=0, linear=True)
    assert to_rules(tree)["formula"].str.contains("·").all()


def test_the_tree_as_text():
    tree = Tree.complete(
        [Feature("petal width", unit="cm")],
        [0, 0, 0],
        [0.8, 0.4, 1.75],
        [False] * 3,
        np.array([[1, 0, 0], [1, 0, 0], [0, 0.9, 0.1], [0, 0, 1]]),
        classes=("setosa", "versicolor", "virginica"),
        notes=("Trained on a sample.",),
    )
    assert to_text(tree).splitlines() == [
        "petal width ≤ 0.8 cm?",
        "├─ yes: petal width ≤ 0.4 cm?",
        "│  ├─ yes: setosa (1.00)",
        "│  └─ no: setosa (1.00)",
        "└─ no: petal width ≤ 1.75 cm?",
        "   ├─ yes: versicolor (0.90)",
        "   └─ no: virginica (1.00)",
        "Trained on a sample.",
    ]


def chain(depth: int) -> Tree:
    """A tree of one long path, a leaf to the left of each of its splits."""
    splits = np.arange(0, 2 * depth, 2)
    arrays = {name: np.full(2 * depth + 1, -1) for name in ("left", "right", "feature")}
    arrays["left"][splits], arrays["right"][splits] = splits + 1, splits + 2
    arrays["feature"][splits] = np.arange(depth) % 3
    threshold = np.full(2 * depth + 1, np.nan)
    threshold[splits] = np.arange(depth)
    return Tree(
        features=[Feature("a"), Feature("b"), Feature("c")],
        **arrays,
        threshold=threshold,
        missing_left=np.zeros(2 * depth + 1, dtype=bool),
        value=np.zeros((2 * depth + 1, 1)),
        n_rows=np.zeros(2 * depth + 1),
        impurity=np.full(2 * depth + 1, np.nan),
    )


@pytest.mark.parametrize("seed", range(8))
def test_the_rules_of_all_leaves_are_those_of_each(seed):
    rng = np.random.default_rng(seed)
    tree = make_tree(rng, 12, n_classes=0, oblique=0.3 * (seed % 2))
    rules = to_rules(tree)
    wanted = [rule_text(tree, leaf) for leaf in rules["leaf"].tolist()]
    assert rules["rule"].tolist() == wanted
    brief = [rule_text(tree, leaf, most=2) for leaf in rules["leaf"].tolist()]
    assert to_rules(tree, most=2)["rule"].tolist() == brief


def test_the_rules_of_a_tree_of_depth_3000_take_no_square_of_that(monkeypatch):
    n_narrowed = 0
    narrowed = NumberCondition.narrowed

    def counted(*given):
        nonlocal n_narrowed
        n_narrowed += 1
        return narrowed(*given)

    monkeypatch.setattr(NumberCondition, "narrowed", counted)
    rules = to_rules(chain(3000))
    assert n_narrowed == 6000
    assert rules["rule"].iloc[-1] == "a > 2997 and b > 2998 and c > 2999"


def test_rules_of_thousands_of_conditions_are_cut_and_written_once(monkeypatch):
    n = 2 * 400 + 1
    left, right = np.full(n, -1), np.full(n, -1)
    left[0:-1:2], right[0:-1:2] = np.arange(1, n, 2), np.arange(2, n, 2)
    split = left >= 0
    tree = Tree(
        features=(Feature("a"), Feature("b")),
        left=left,
        right=right,
        feature=np.where(split, -2, -1),
        threshold=np.where(split, 1.0, np.nan),
        missing_left=np.zeros(n, dtype=bool),
        value=np.zeros((n, 1)),
        n_rows=np.ones(n),
        impurity=np.zeros(n),
        weights=np.arange(2 * n, dtype=float).reshape(n, 2),
        target="y",
    )
    n_written = 0
    text = ObliqueCondition.text

    def counted(*given):
        nonlocal n_written
        n_written += 1
        return text(*given)

    monkeypatch.setattr(ObliqueCondition, "text", counted)
    rules = to_rules(tree)
    assert n_written <= 800
    assert rules["rule"].iloc[-1].endswith(" and 200 more conditions")
    assert rules["rule"].iloc[0].count(" and ") == 0


def test_two_thresholds_of_unknown_rows_are_never_shown_alike():
    tree = Tree.complete(
        [Feature("x")],
        [0, 0, 0],
        [0.50003123, 0.50001234, 2.9999998807907104],
        [False] * 3,
        [[1.0], [2.0], [3.0], [4.0]],
    )
    assert [*to_rules(tree)["rule"]] == [
        "x ≤ 0.500012",
        "0.500012 < x ≤ 0.500031",
        "0.500031 < x ≤ 2.999000",
        "x > 2.999",
    ]
