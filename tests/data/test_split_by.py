"""Data splits by group, by time and as given: what belongs together stays so."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treelab.data.problem import make_problem, split_problem
from treelab.data.problem_check import check_problem
from treelab.data.split_by import (
    N_BLOCKS,
    assign_by,
    fold_groups,
    folds_by,
    likely_columns,
    with_test_file,
)
from treelab.evaluation.comparison import have_same_test_rows

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "x": RNG.normal(size=300),
        "patient": RNG.integers(40, size=300).astype(str),
        "year": RNG.integers(2000, 2020, size=300),
        "y": RNG.choice(["a", "b"], size=300),
    }
)


@settings(max_examples=60)
@given(
    codes=st.lists(st.integers(0, 8), min_size=3, max_size=60),
    way=st.sampled_from(["group", "time"]),
    seed=st.integers(0, 99),
)
def test_rows_of_a_group_or_a_time_are_never_parted(codes, way, seed):
    column = pd.Series(codes, name="c", dtype=float)
    if column.nunique() < 3:
        with pytest.raises(ValueError, match="a split needs at least 3"):
            assign_by(way, column, 0.2, 0.2, seed)
        return
    split = assign_by(way, column, 0.2, 0.2, seed)
    assert set(split) == {0, 1, 2}
    assert (pd.Series(split).groupby(codes).nunique() == 1).all()
    if way == "time":
        assert column[split == 2].min() > column[split == 1].max()
        assert column[split == 1].min() > column[split == 0].max()


def test_shares_are_nearly_reached():
    for way, name in (("group", "patient"), ("time", "year")):
        split = assign_by(way, FRAME[name], 0.2, 0.2, 0)
        assert np.bincount(split) / 300 == pytest.approx([0.6, 0.2, 0.2], abs=0.06)


def test_rows_without_a_time_train():
    times = pd.Series(["2020-01-01", None, "2021-01-01", "2022-05-01"])
    assert assign_by("time", times, 0.25, 0.25, 0).tolist() == [0, 0, 1, 2]
    with pytest.raises(ValueError, match="neither dates such as"):
        assign_by("time", pd.Series(["a", "b", "c"], name="c"), 0.2, 0.2, 0)


@pytest.mark.parametrize(
    ("way", "values", "what"),
    [
        ("group", list("aabbcc"), r"'c' \(3 groups\) gives no 5 folds"),
        ("time", [0] * 50 + [1] * 5, r"'c' \(2 times\) gives no 5 folds"),
        ("time", [0, 1, 2], "Take fewer folds"),
    ],
)
def test_folds_without_rows_to_fit_are_refused(way, values, what):
    with pytest.raises(ValueError, match=what):
        list(folds_by(way, pd.Series(values, name="c"), 5, seed=0))


def test_folds_part_no_group_and_score_what_comes_later():
    for fit, held_out in folds_by("group", FRAME["patient"], 3, seed=0):
        parts = [set(FRAME["patient"].iloc[rows]) for rows in (fit, held_out)]
        assert parts[0].isdisjoint(parts[1])
        assert len(fit) + len(held_out) == len(FRAME)
    for fit, held_out in folds_by("time", FRAME["year"], 3, seed=0):
        assert FRAME["year"].iloc[fit].max() < FRAME["year"].iloc[held_out].min()
        assert len(held_out) == len(FRAME) // 4


def test_text_that_is_no_date_among_dates_is_refused():
    cells = ["2020-01-31", "2020-02-01", "2020-03-01", None, "01/12/2022"]
    days = pd.Series(cells, name="day")
    with pytest.raises(ValueError, match=r"dates, and '01/12/2022'.* 1 row"):
        assign_by("time", days, 0.2, 0.2, 0)
    assert assign_by("time", days[:4], 0.25, 0.25, 0).tolist() == [0, 1, 2, 0]


def test_a_column_may_say_what_a_row_is_for():
    marks = pd.Series(["train", "Test ", None, "training", "VALID", "train"], name="c")
    assert assign_by("given", marks, 0.2, 0.2, 0).tolist() == [0, 2, 0, 0, 1, 0]
    drawn = assign_by("given", marks.replace("VALID", "train"), 0.2, 0.2, 0)
    assert np.bincount(drawn).tolist() == [4, 1, 1]
    with pytest.raises(ValueError, match="says “test”"):
        assign_by("given", marks.replace("Test ", "train"), 0.2, 0.2, 0)
    with pytest.raises(ValueError, match="'c' says 'holdout' on row 4 of"):
        assign_by("given", marks.replace("training", "holdout"), 0.2, 0.2, 0)
    assert assign_by("given", marks.replace("VALID", "dev"), 0.2, 0.2, 0)[4] == 1


def test_a_problem_is_split_by_its_column_and_does_not_predict_from_groups():
    problem = split_problem(make_problem(FRAME, "y"), "group", "patient")
    assert problem.columns == ("x", "year")
    split = problem.split(FRAME)
    groups = [
        set(FRAME.loc[split.rows(n)[0].index, "patient"]) for n in ("train", "test")
    ]
    assert not groups[0] & groups[1]
    assert type(problem).from_dict(problem.to_dict()) == problem
    assert not have_same_test_rows(problem, split_problem(problem, "random", ""))
    codes = split.groups
    assert codes is not None
    assert (codes.groupby(FRAME["patient"]).nunique() == 1).all()
    assert codes.nunique() == FRAME["patient"].nunique()
    few = FRAME.assign(patient=RNG.choice(["1", "2"], 300))
    (error, *_) = check_problem(few, problem)
    assert error.level == "error"
    assert "2 groups" in error.sentence
    with pytest.raises(ValueError, match="split_by must be one of"):
        replace(problem, split_column="")


def test_classes_without_a_training_row_are_left_out():
    frame = FRAME.assign(y=np.where(FRAME["year"] >= 2018, "late", FRAME["y"]))
    split = split_problem(make_problem(frame, "y"), "time", "year").split(frame)
    assert "late" not in set(split.y_test)
    assert any("of a class without a training row" in note for note in split.notes)


def test_a_test_table_is_appended_and_marked():
    test = FRAME.head(5).assign(more=1)
    both, column = with_test_file(FRAME, test, "test.csv")
    assert column == "data split"
    problem = split_problem(make_problem(both, "y"), "given", column)
    assert problem.split(both).X_test.index.tolist() == [300, 301, 302, 303, 304]
    with pytest.raises(ValueError, match=r"test\.csv lacks the column 'year'"):
        with_test_file(FRAME, test.drop(columns="year"), "test.csv")
    with pytest.raises(ValueError, match="holds numbers in the table and text"):
        with_test_file(FRAME, test.assign(x="a"), "test.csv")


def test_true_and_false_are_the_same_in_both_tables_though_one_lacks_some():
    whole = pd.DataFrame({"b": [True, False], "n": [1, 2]})
    gaps = pd.DataFrame({"b": ["True", None], "n": [1, 2]})
    for parts in ((whole, gaps), (gaps, whole)):
        both, _ = with_test_file(*parts, "test.csv")
        assert sorted(both["b"].dropna()) == ["False", "True", "True"]
    assert with_test_file(whole, whole, "test.csv")[0]["b"].dtype == bool


def test_columns_that_may_split_are_offered():
    frame = FRAME.assign(part=RNG.choice(["train", "test"], 300), id=range(300))
    assert likely_columns(frame, "given", "y") == ["part"]
    assert likely_columns(frame, "group", "y")[0] == "patient"
    assert "id" not in likely_columns(frame, "group", "y")
    assert "year" in likely_columns(frame, "time", "y")


def test_rows_of_a_span_of_time_are_held_out_together():
    times = pd.Series(RNG.permutation(np.repeat(np.arange(100), 3)), name="t")
    groups = fold_groups("time", times)
    assert (groups.groupby(times).nunique() == 1).all()
    assert groups.value_counts().to_list() == [15] * N_BLOCKS
    assert (groups.groupby(times).first().diff().dropna() >= 0).all()
    assert fold_groups("given", times) is None
