"""Folds: each row is a test row once, classes in proportion, groups together."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treelab.data.folds import assign_folds, fold_name, splits_words
from treelab.data.problem import folds_problem, make_problem, split_problem
from treelab.data.problem_check import check_problem
from treelab.evaluation.comparison import have_same_test_rows

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "x": RNG.normal(size=100),
        "patient": RNG.integers(20, size=100).astype(str),
        "y": RNG.choice(["a", "b", "c"], size=100, p=[0.6, 0.3, 0.1]),
    }
)

THREE_FOLDS = ["112020000202", "000012220120", "220200012010"]


def folds(strata, groups, n_folds, repeat=0) -> np.ndarray:
    """Assign rows for each fold, (n_folds, n_rows)."""
    seeds = range(repeat * n_folds, (repeat + 1) * n_folds)
    return np.stack([assign_folds(strata, groups, n_folds, 0.2, s) for s in seeds])


@settings(max_examples=50)
@given(
    codes=st.lists(st.integers(0, 3), min_size=20, max_size=60),
    n_folds=st.integers(2, 6),
    repeat=st.integers(0, 9),
)
def test_each_row_is_tested_once_and_classes_are_in_proportion(codes, n_folds, repeat):
    strata = np.array(codes)
    split = folds(strata, None, n_folds, repeat)
    assert ((split == 2).sum(0) == 1).all()
    for chosen in (np.ones(len(strata), bool), *(strata == c for c in set(codes))):
        assert np.ptp((split[:, chosen] == 2).sum(1)) <= 1
    for own in split:
        assert {0, 1} <= set(own)
        assert set(strata[own == 1]) <= set(strata[own == 0])


@settings(max_examples=50)
@given(
    codes=st.lists(st.integers(0, 30), min_size=40, max_size=80),
    n_folds=st.integers(3, 5),
)
def test_groups_stay_together_and_folds_are_alike_in_size(codes, n_folds):
    codes = [*codes, *range(8)]
    groups = pd.Series(codes, name="g")
    split = folds(np.zeros(len(codes), int), groups, n_folds)
    assert ((split == 2).sum(0) == 1).all()
    for own in split:
        assert (pd.Series(own).groupby(codes).nunique() == 1).all()
        assert {0, 1, 2} == set(own)
    assert np.ptp((split == 2).sum(1)) <= groups.value_counts().iloc[0]


def test_validation_rows_are_a_share_of_all_and_stratified():
    split = assign_folds(np.repeat([0, 1], [80, 20]), None, 5, 0.2, 3)
    counts = [np.bincount(split[:80]), np.bincount(split[80:])]
    assert np.array(counts) == pytest.approx(
        np.array([[48, 16, 16], [12, 4, 4]]), abs=1
    )


def test_rows_are_dealt_anew_in_each_repeat_and_alike_in_every_process():
    strata = np.arange(12) % 2
    first, second = folds(strata, None, 3), folds(strata, None, 3, repeat=1)
    assert (first != second).any()
    assert ["".join(map(str, own)) for own in first] == THREE_FOLDS


def test_what_cannot_be_folded_is_refused():
    with pytest.raises(ValueError, match="5 folds need at least 6 groups in column"):
        folds(np.zeros(9, int), pd.Series([0, 1, 2] * 3, name="g"), 5)
    with pytest.raises(ValueError, match="Beside fold 1 of 2 there are too few"):
        folds(np.zeros(9, int), pd.Series([0] * 7 + [1, 2], name="g"), 2)
    by_time = split_problem(make_problem(FRAME, "y"), "time", "x")
    with pytest.raises(ValueError, match="split at random or by group"):
        folds_problem(by_time, 5)
    grouped = split_problem(make_problem(FRAME, "y"), "group", "patient")
    few = FRAME.assign(patient=FRAME["patient"].str[0].isin(["1"]))
    found = check_problem(few, folds_problem(grouped, 5))
    assert any("there are 2" in own.sentence for own in found)


def test_a_problem_with_folds_tests_every_row_once_and_finds_its_seed_again():
    problem = replace(make_problem(FRAME, "y"), seed=3)
    first = folds_problem(problem, 5)
    assert (first.seed, folds_problem(first, 0)) == (15, problem)
    assert type(first).from_dict(first.to_dict()) == first
    assert not have_same_test_rows(first, replace(problem, seed=15))
    tested = [replace(first, seed=15 + i).split(FRAME).X_test.index for i in range(5)]
    assert sorted(np.concatenate(tested)) == list(range(100))


def test_folds_are_named_and_counted():
    assert fold_name(1, 5) == "fold 2 of 5"
    assert fold_name(11, 5) == "fold 2 of 5, repeat 3"
    assert splits_words(5, 5) == "5 folds"
    assert splits_words(10, 5) == "10 folds (2 repeats of 5)"
    assert splits_words(3, 0) == "3 data splits"
