"""Scores are compared only on the same rows of the same target."""

from dataclasses import replace

import pytest

from treelab.data.problem import Problem
from treelab.evaluation.comparison import have_same_test_rows

PROBLEM = Problem("table", "fruit", "kind", ("radius", "colour"), task="multiclass")


@pytest.mark.parametrize(
    "other",
    [
        {"columns": ("radius",)},
        {"units": (("radius", "mm"),)},
        {"kinds": (("radius", "category"),)},
    ],
)
def test_what_is_read_of_the_rows_does_not_change_them(other):
    assert have_same_test_rows(PROBLEM, replace(PROBLEM, **other))


@pytest.mark.parametrize(
    "other",
    [
        {"table_id": "another"},
        {"target": "weight"},
        {"task": "regression"},
        {"seed": 1},
        {"test_share": 0.3},
        {"valid_share": 0.3},
    ],
)
def test_other_rows_or_targets_are_not_compared(other):
    assert not have_same_test_rows(PROBLEM, replace(PROBLEM, **other))


def test_clusters_are_no_truth():
    found = replace(PROBLEM, origin="where they were found")
    assert not have_same_test_rows(found, found)
