from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trees.make import CATEGORIES, make_table, make_target, make_tree
from treelab.trees.feature import Feature
from treelab.trees.text import (
    change_text,
    left_categories,
    node_text,
    path_sentences,
    prediction_text,
    split_text,
)
from treelab.trees.tree import Tree

SEEDS = st.integers(0, 2**32 - 1)
JOB = Feature(
    "occupation",
    "category",
    categories=("Sales", "Tech", "Craft", "Farming"),
    scores=(0.1, 0.2, 0.6, 0.9),
    unseen=0.5,
)
WIDTH = Feature("petal width", unit="cm")


def stump(feature, threshold, missing_left=False, **more):
    """A tree with one split of one column."""
    return Tree.complete(
        [feature],
        [0],
        [threshold],
        [missing_left],
        [[0.9, 0.1], [0.2, 0.8]],
        classes=("setosa", "other"),
        **more,
    )


@pytest.mark.parametrize(
    ("feature", "threshold", "missing_left", "text"),
    [
        (WIDTH, 0.8, False, "petal width ≤ 0.8 cm"),
        (Feature("age"), 41.5, False, "age ≤ 41.5"),
        # Of rows that are not known the spread says how near is near.
        (Feature("hPa", spread=60), 1013.2537, False, "hPa ≤ 1013"),
        (Feature("hPa", spread=0.4), 1013.2537, False, "hPa ≤ 1013.253"),
        (Feature("age"), np.inf, False, "age is known"),
        (Feature("age"), -np.inf, True, "age is missing"),
        (Feature("age"), np.inf, True, "any age"),
        (Feature("age"), -np.inf, False, "no age passes"),
        (JOB, 0.3, False, "occupation in {“Sales”, “Tech”}"),
        (JOB, 0.15, False, "occupation is “Sales”"),
        (JOB, 0.7, False, "occupation is not “Farming”"),
        (JOB, 0.55, False, "occupation not in {“Craft”, “Farming”}"),
        (replace(JOB, unseen=0.0), 0.15, True, "occupation is “Sales” (or new)"),
        (replace(JOB, unseen=0.0), 0.05, False, "occupation is a new category"),
        (JOB, 2.0, False, "occupation is known"),
        (JOB, 2.0, True, "any occupation"),
        (JOB, -2.0, True, "occupation is missing"),
    ],
)
def test_a_split_asks_in_the_tables_own_words(feature, threshold, missing_left, text):
    assert split_text(stump(feature, threshold, missing_left), 0) == text


def test_missing_values_are_named_where_training_rows_missed_some():
    table = pd.DataFrame({"petal width": [0.2, 1.0, np.nan]})
    y = ["setosa", "other", "other"]
    asked = {
        side: split_text(stump(WIDTH, 0.8, side).with_rows(table, y), 0)
        for side in (True, False)
    }
    assert asked[True] == "petal width ≤ 0.8 cm (or missing)"
    assert asked[False] == "petal width ≤ 0.8 cm"


def test_an_oblique_split_reads_as_a_sum_with_the_largest_weight_first():
    features = [Feature("bmi"), Feature("age"), JOB, Feature("unused")]
    indicator = Feature("sex", "category", categories=("f", "m"), scores=(0, 1))
    tree = Tree.complete(
        [*features, indicator],
        None,
        [1.29999],
        [False],
        [[1.0], [2.0]],
        weights=[[-0.42123, 0.61, 0.05, 0, 1]],
    )
    assert split_text(tree, 0) == (
        "[sex is “m”] + 0.61·age − 0.421·bmi + 0.05·[score of occupation] ≤ 1.3"
    )
    assert split_text(tree, 0, most=2) == "[sex is “m”] + 0.61·age + 2 more terms ≤ 1.3"


def test_long_lists_and_names_can_be_cut():
    tree = stump(replace(JOB, column="occupation of the mother"), 0.7)
    assert split_text(tree, 0, length=13) == "occupa…mother is not “Farming”"
    tree = stump(replace(JOB, unseen=2.0), 0.7)
    assert split_text(tree, 0, most=1) == "occupation in {“Sales”, 2 more}"


@settings(max_examples=30)
@given(seed=SEEDS)
def test_left_categories_are_those_that_go_left(seed):
    rng = np.random.default_rng(seed)
    tree = make_tree(rng, 12, oblique=0.2)
    for node in np.flatnonzero(~tree.is_leaf):
        j = tree.feature[node]
        if j >= 0 and tree.features[j].kind == "category":
            goes = [
                c
                for c, score in zip(CATEGORIES, tree.features[j].scores)
                if score <= tree.threshold[node]
            ]
            assert list(left_categories(tree, node)) == goes
        else:
            with pytest.raises(ValueError, match="does not split"):
                left_categories(tree, node)


def test_answers_name_the_class_or_the_value_with_its_unit():
    tree = stump(WIDTH, 0.8)
    assert [prediction_text(tree, node) for node in (1, 2)] == [
        "setosa (0.90)",
        "other (0.80)",
    ]
    tree = Tree.complete([], [], [], [], [[152.483]], target_unit="mm")
    assert prediction_text(tree, 0) == "152 mm"
    tree = Tree.complete(
        [Feature("age"), Feature("bmi")],
        [],
        [],
        [],
        [[0.0]],
        leaf_weights=[[-0.02, 3.0]],
        leaf_bias=[[2.1]],
    )
    assert prediction_text(tree, 0) == "2.1 + 3·bmi − 0.02·age"


def test_a_node_is_described_with_its_rows():
    tree = replace(stump(WIDTH, 0.8), n_rows=[1500, 500, 1000])
    assert node_text(tree, 0) == "petal width ≤ 0.8 cm? · 1,500 rows, 100%"
    assert node_text(tree, 1) == "setosa (0.90) · 500 rows, 33.3%"
    assert node_text(stump(WIDTH, 0.8), 1) == "setosa (0.90)"


def test_a_path_in_words_says_the_rows_own_values():
    tree = Tree.complete(
        [WIDTH, JOB],
        [0, 1, 1],
        [0.8, 0.3, 0.3],
        [False] * 3,
        [[1, 0], [0.5, 0.5], [0, 1], [0.25, 0.75]],
        classes=("no", "yes"),
        target="buys",
    )
    row = pd.DataFrame({"petal width": [0.2], "occupation": ["Craft"]})
    assert path_sentences(tree, row) == [
        "petal width ≤ 0.8 cm? Yes: it is 0.2 cm.",
        "occupation in {“Sales”, “Tech”}? No: it is “Craft”.",
        "buys: no (0.50).",
    ]
    row = pd.DataFrame({"petal width": [None], "occupation": ["Astronaut"]})
    assert path_sentences(tree, row) == [
        "petal width ≤ 0.8 cm? No: it is missing.",
        "occupation in {“Sales”, “Tech”}? No: it is “Astronaut”, which no training row "
        "held.",
        "buys: yes (0.75).",
    ]


@settings(max_examples=40)
@given(seed=SEEDS, n_leaves=st.integers(1, 20), oblique=st.sampled_from([0.0, 0.6]))
def test_a_path_in_words_has_a_sentence_a_node(seed, n_leaves, oblique):
    rng = np.random.default_rng(seed)
    tree = make_tree(rng, n_leaves, n_classes=0, oblique=oblique, linear=seed % 2 == 0)
    table = make_table(rng, 5)
    if seed % 3:
        tree = tree.with_rows(table, make_target(rng, tree, 5))
    for i in range(len(table)):
        row = table.iloc[[i]]
        sentences = path_sentences(tree, row)
        nodes = tree.path(row)
        assert len(sentences) == len(nodes)
        for said, node, below in zip(sentences, nodes, nodes[1:]):
            side = "Yes" if tree.left[node] == below else "No"
            assert said.startswith(f"{split_text(tree, node)}? {side}: it is ")


def test_a_leaf_asks_nothing_and_a_node_must_exist():
    tree = stump(WIDTH, 0.8)
    with pytest.raises(ValueError, match="leaf"):
        split_text(tree, 1)
    with pytest.raises(ValueError, match="nodes 0 to 2"):
        node_text(tree, 3)


def test_a_sum_begins_with_the_column_that_moves_it_most():
    features = [Feature("income", spread=20_000.0), Feature("age", spread=10.0)]
    weights = [[0.001, 1.0]]
    asked = Tree.complete(
        features, None, [50.0], [False], [[1.0], [2.0]], weights=weights
    )
    assert split_text(asked, 0) == "0.001·income + age ≤ 50"
    unknown = [Feature("income"), Feature("age", spread=10.0)]
    asked = replace(asked, features=unknown)
    assert split_text(asked, 0) == "age + 0.001·income ≤ 50"


@pytest.mark.parametrize(
    ("threshold", "before", "now", "words"),
    [
        (3.325, 4.1, 2.5, "lower grade from 4.1 to 3.325 or less"),  # shown as 3.33
        (3.324, 2.5, 4.1, "raise grade from 2.5 to more than 3.324"),  # as 3.32
        (3.324, 4.1, 2.5, "lower grade from 4.1 to 3.32 or less"),
        (3.325, 2.5, 4.1, "raise grade from 2.5 to more than 3.33"),
    ],
)
def test_every_value_that_a_change_names_leads_where_it_says(
    threshold, before, now, words
):
    grade, rows = Feature("grade"), pd.DataFrame({"grade": [2.5, 3.28, 3.37, 4.1]})
    tree = stump(grade, threshold).with_rows(rows, ["setosa", "other"] * 2)
    changed = pd.DataFrame({"grade": [now]})
    assert change_text(grade, before, now, tree, changed) == words
