"""What a person asks of a tree: read in every form, refused in a sentence."""

import json

import pytest

from treelab.trees.constraints import Constraints

TEXT = {
    "monotone": "income: up, age: down",
    "monotone_class": "good",
    "allowed": "0: age, income; other: age, job",
    "together": "age, income; age, job",
    "column_costs": "scan: 0.05, age: 0",
    "max_columns": "3",
    "min_samples_leaf": "20",
    "class_costs": "bad as good: 5, good as bad: 0.5",
}
PYTHON = {
    "monotone": {"income": 1, "age": -1, "job": 0},
    "monotone_class": "good",
    "allowed": {0: ["age", "income"], "other": ["age", "job"]},
    "together": [["age", "income"], ["age", "job"]],
    "column_costs": {"scan": 0.05, "age": 0},
    "max_columns": 3,
    "min_samples_leaf": 20,
    "class_costs": {"bad": {"good": 5}, "good": {"bad": 0.5}},
}


def test_text_python_and_json_say_the_same():
    read = Constraints.read(TEXT)
    assert read == Constraints.read(PYTHON)
    assert Constraints.read(json.loads(json.dumps(read.to_dict()))) == read
    assert Constraints.read(read) is read
    assert "probability of good up with income; probability of good down" in str(read)


@pytest.mark.parametrize("nothing", [None, "", {}, {"monotone": ""}, {"together": ""}])
def test_nothing_asked_is_empty(nothing):
    empty = Constraints.read(nothing)
    assert not empty
    assert (empty, empty.to_dict(), str(empty)) == (Constraints(), {}, "none")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"monoton": {}}, "no constraint 'monoton'"),
        ([1], "must be a mapping"),
        ({"monotone": "age"}, "reads as 'income: up"),
        ({"monotone": "age: up, age: down"}, "names 'age' twice"),
        ({"allowed": "0: age; 0: income"}, "names '0' twice"),
        ({"monotone": {"age": "left"}}, "must be up or down, got 'left'"),
        ({"allowed": {"root": ["a"]}}, "by level"),
        ({"allowed": "0: "}, "no column for level 0"),
        ({"allowed": "age, income"}, "reads as '0: age"),
        ({"together": 3}, "groups of columns"),
        ({"column_costs": "age: -1"}, "cost of 'age' must be a number >= 0"),
        ({"max_columns": 0}, "max_columns must be a whole number >= 1"),
        ({"min_samples_leaf": "few"}, "min_samples_leaf must be a whole number"),
        ({"class_costs": "bad: 5"}, "bad as good"),
        ({"class_costs": {"bad": {"bad": 1}}}, "which is right, must be 0"),
        ({"class_costs": "bad as good: 0"}, "are all 0"),
    ],
)
def test_what_cannot_be_read_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        Constraints.read(given)


@pytest.mark.parametrize(
    ("given", "classes", "words"),
    [
        ({"monotone": "aeg: up"}, None, "column 'aeg'.*did you mean 'age'"),
        ({"together": "age, wage"}, None, "column 'wage'"),
        ({"monotone": "job: up"}, None, "holds categories"),
        ({"monotone": "age: up"}, ("a", "b", "c"), "needs monotone_class"),
        ({"monotone": "age: up", "monotone_class": "d"}, ("a", "b"), "no class 'd'"),
        ({"class_costs": "a as d: 2"}, ("a", "b"), "no class 'd'"),
        ({"class_costs": "a as b: 2"}, None, "class_costs is for classes"),
    ],
)
def test_what_the_table_does_not_have_is_refused(given, classes, words):
    constraints = Constraints.read(given)

    def check():
        constraints.check_columns(["age", "income", "job"], ["job"])
        constraints.check_classes(classes)

    with pytest.raises(ValueError, match=words):
        check()
