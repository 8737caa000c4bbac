"""Damaged and hostile models of xgboost are refused in a sentence, and soon."""

import copy
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import xgboost

from tests.trees.test_hostile_models import places
from treelab.trees.adapters import from_xgboost

RULES = ["reg:squarederror", "binary:logistic", "multi:softprob"]
CAPPED = """
import json, resource, sys
from treelab.trees.adapters import from_xgboost
resource.setrlimit(resource.RLIMIT_AS, (2_000_000_000,) * 2)
for line in sys.stdin:
    try:
        from_xgboost(json.loads(line))
        print("read")
    except ValueError as error:
        print(error)
"""
VALUES = (
    *(None, True, -1, 10**10, 10**30, 1e308, float("nan"), "", "1e10"),
    *([], [1], [[1]], ["x"], [-1], {"a": 1}),
)


def table() -> pd.DataFrame:
    """Two numbers and a category."""
    rng = np.random.default_rng(0)
    colour = pd.Categorical(rng.choice(["red", "green", "blue"], 120))
    return pd.DataFrame(
        {"a": rng.normal(size=120), "b": rng.normal(size=120), "colour": colour}
    )


def booster(objective: str, rounds: int = 1) -> xgboost.Booster:
    """A small model."""
    X = table()
    y = np.digitize(X["a"], [-0.5, 0.5])
    if objective.startswith("binary"):
        y = (X["colour"] == "red").astype(int)
    parameters = {"objective": objective, "max_depth": 2, "max_cat_to_onehot": 1}
    if objective.startswith("multi"):
        parameters["num_class"] = 3
    data = xgboost.DMatrix(X, y, enable_categorical=True)
    return xgboost.train(parameters, data, rounds)


def saved(objective: str, rounds: int = 1) -> dict:
    """Such a model as JSON."""
    return json.loads(bytes(booster(objective, rounds).save_raw("json")))


def by_category() -> list:
    """A dumped tree that tests a set of categories."""
    leaves = [{"nodeid": 1, "leaf": 1.0}, {"nodeid": 2, "leaf": 2.0}]
    split = {"nodeid": 0, "split": "c", "split_condition": [1], "children": leaves}
    return [{**split, "yes": 2, "no": 1, "missing": 1}]


def with_value(model, place: tuple, value):
    """The model with something else in one place; all else is shared."""
    if not place:
        return value
    key, *inner = place
    model = copy.copy(model)
    model[key] = with_value(model[key], tuple(inner), value)
    return model


@pytest.mark.slow
def test_numbers_in_a_small_file_that_ask_for_all_memory_are_refused():
    model, softmax = saved("reg:squarederror"), saved("multi:softprob")
    parameters = ("learner", "learner_model_param")
    many = with_value(model, ("learner", "feature_names"), [])
    dump = by_category()
    bombs = [
        with_value(many, (*parameters, "num_feature"), "10000000000"),
        with_value(softmax, (*parameters, "num_class"), "1000000000"),
        with_value(dump, (0, "split_condition"), [300_000_000]),
        with_value(model, ("learner", "feature_names"), ["x"] * 200_000),
        [{**dump[0], "split_condition": [8_000_000 + i]} for i in range(50)],
    ]
    done = subprocess.run(
        [sys.executable, "-c", CAPPED],
        input="\n".join(map(json.dumps, bombs)),
        capture_output=True,
        text=True,
        check=True,
    )
    sentences = done.stdout.strip().split("\n")
    words = ["10,000,000,000 columns", "1,000,000,000 classes", "categories"]
    words += ["200,000 columns", "categories"]
    assert len(sentences) == len(words)
    assert all(word in sentence for word, sentence in zip(words, sentences))


@pytest.mark.parametrize("kind", [*RULES, "dump", "category"])
def test_whatever_stands_in_a_model_it_is_read_or_refused(kind):
    model = by_category() if kind == "category" else None
    if kind == "dump":
        texts = booster(RULES[0]).get_dump(dump_format="json")
        model = [json.loads(text) for text in texts]
    model = model or saved(kind)
    n_refused = 0
    for place in places(model):
        for value in VALUES:
            try:
                from_xgboost(with_value(model, place, value))
            except (ValueError, FileNotFoundError, IsADirectoryError):
                n_refused += 1  # a text by itself is a path
    assert n_refused > 50


def test_deep_nesting_is_refused():
    for depth in (900, 100_000):
        deep = "[" * depth + "]" * depth
        for text in (deep, json.dumps([deep])):
            with pytest.raises(ValueError, match=r"JSON|damaged"):
                from_xgboost(text.encode())


def test_sets_of_categories_that_overlap_without_end_are_refused():
    model = saved("binary:logistic", 3)
    for tree in model["learner"]["gradient_booster"]["model"]["trees"]:
        if tree["categories"]:
            tree["categories_sizes"] = [10**9] * len(tree["categories_sizes"])
            break
    else:
        pytest.fail("No tree tests a category.")
    with pytest.raises(ValueError, match="sets of categories are damaged"):
        from_xgboost(model)
