"""The attributes that docs/api.md and docstrings name are those that a fit leaves."""

import re
from inspect import getdoc

import numpy as np
import pytest

import treelab
from tests.docs.pages import DOCS
from tests.learners.test_frames import learner, table
from tests.learners.test_pipeline import SLOW
from treelab.learners.registry import LEARNERS

ROW = re.compile(r"^\| ((?:`\w+_`(?:, )?)+) \| ([^|]+) \| [^|]+ \|$", re.MULTILINE)
CODE = re.compile(r"`(\w+)`")
SECTION = r"\n{}\n-+\n(.*?)(?=\n\n[A-Z]\w+\n-+\n|\Z)"
CLUSTERER = "clusters"


def named() -> dict[str, str]:
    """Each attribute that the page names, and of whom."""
    rows = ROW.findall((DOCS / "api.md").read_text("utf-8"))
    return {name: of for names, of in rows for name in CODE.findall(names)}


def documented(cls: type, section: str) -> list[str]:
    """The names that a section of a class's docstring lists."""
    found = re.search(SECTION.format(section), getdoc(cls) or "", re.DOTALL)
    assert found, f"{cls.__name__} has no {section}"
    heads = re.findall(r"^(\w[\w, ]*) :", found[1], re.MULTILINE)
    return [name for head in heads for name in head.split(", ")]


def fitted(key: str, task: str):
    """An estimator after a quick fit."""
    frame, y = table()
    if key == CLUSTERER:
        return treelab.ArgminTreeClusterer(depth=1, max_epochs=2).fit(frame)
    y = y if task == "binary" else (y == "yes") * 1.0
    return learner(key, task).fit(frame, y)


def has(estimator, of: str) -> bool:
    """Whether the page says that this estimator has what is ``of`` some."""
    if of == "every estimator":
        return True
    if of == "every classifier":
        return estimator.__sklearn_tags__().estimator_type == "classifier"
    names = CODE.findall(of)
    assert names, f"{of!r} names nobody"
    return any(type(estimator).__name__.startswith(name) for name in names)


CASES = [
    pytest.param(key, task, marks=[pytest.mark.slow] * (key in (*SLOW, "get")))
    for key in LEARNERS
    for task in ("binary", "regression")
]


@pytest.mark.parametrize(("key", "task"), [*CASES, (CLUSTERER, "clusters")])
def test_an_estimator_has_the_attributes_that_are_named_and_no_others(key, task):
    estimator = fitted(key, task)
    attributes = named()
    assert len(attributes) > 10
    wrong = [
        name for name, of in attributes.items()
        if hasattr(estimator, name) != has(estimator, of)
    ]  # fmt: skip
    assert not wrong
    absent = [
        name for name in documented(type(estimator), "Attributes")
        if not hasattr(estimator, name)
    ]  # fmt: skip
    assert not absent


def test_trees_have_the_attributes_that_their_docstrings_name():
    models = [fitted("cart", "binary").tree_, fitted(CLUSTERER, "clusters").path_]
    models.append(
        treelab.WeightedTrees(
            features=models[0].features,
            feature=[[0]],
            threshold=[[0.0]],
            missing_left=[[True]],
            leaf_value=np.zeros((1, 2, 1)),
            leaf_weight=np.zeros((1, 2)),
        )
    )
    for model in models:
        names = documented(type(model), "Parameters")
        assert not [name for name in names if not hasattr(model, name)]


def test_the_page_names_every_estimator_that_there_is():
    of = {name for words in named().values() for name in CODE.findall(words)}
    kinds = ("Classifier", "Regressor", "Clusterer")
    estimators = [name for name in treelab.__all__ if name.endswith(kinds)]
    assert len(estimators) == 13
    for name in estimators:
        assert any(name.startswith(each) for each in of), name
