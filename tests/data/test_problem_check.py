import numpy as np
import pandas as pd
import pytest

from treelab.data.builtin import BUILTIN
from treelab.data.problem import Problem, make_problem, split_problem
from treelab.data.problem_check import check_problem
from treelab.data.reading.read_table import read_table


def found(y, task="binary", kinds=(), **columns):
    """Levels and sentences on a table with a column "u" and others."""
    n = len(y)
    frame = pd.DataFrame({"u": np.arange(n) % 7 + 0.5, **columns, "y": y})
    names = tuple(name for name in frame if name != "y")
    problem = Problem("id", "table", "y", names, kinds=kinds, task=task)
    return [(f.level, f.sentence) for f in check_problem(frame, problem)]


def is_found(findings, level, *words):
    """Whether one finding of a level holds all the words."""
    return any(
        found_level == level and all(word in sentence for word in words)
        for found_level, sentence in findings
    )


TWO = ["a", "b"] * 50


@pytest.mark.parametrize("key", BUILTIN)
def test_nothing_is_odd_about_the_built_in_tables(key):
    table = BUILTIN[key]
    frame = table.load()
    assert check_problem(frame, make_problem(frame, table.target)) == []


@pytest.mark.parametrize(
    ("y", "shown"), [(["a"] * 60, "a"), ([1.0] * 60, "1"), ([True] * 60, "True")]
)
def test_a_constant_target_is_an_error(y, shown):
    sentence = f"is '{shown}' in every row"
    assert is_found(found(y), "error", "'y'", sentence, "Choose another")


@pytest.mark.parametrize("cell", ["1", "1.50", "12 kg", "2020-03-01", "a" * 50])
def test_a_constant_target_is_shown_as_it_is_written(cell):
    lines = "".join(f"{i % 7},{cell}\n" for i in range(60))
    frame = read_table(f"x,y\n9,\n{lines}".encode()).frame
    problem = Problem("id", "table", "y", ("x",), task="binary")
    (error, *_) = check_problem(frame, problem)
    assert f"'y' is {cell!r} in every row" in error.sentence


@pytest.mark.parametrize("task", ["regression", "multiclass"])
def test_dates_are_no_target(task):
    lines = "".join(f"{i % 7},2020-0{i % 3 + 1}-01\n" for i in range(60))

    def sentences(**how):
        frame = read_table(f"x,due\n{lines}".encode(), **how).frame
        problem = Problem("id", "table", "due", ("x",), task=task)
        return [(f.level, f.sentence) for f in check_problem(frame, problem)]

    words = ("'due' holds dates", "days since another date")
    assert is_found(sentences(), "error", *words)
    assert not is_found(sentences(as_text=["due"]), "error", *words)


def test_a_class_of_test_rows_alone_is_shown_as_it_is_written():
    frame = pd.DataFrame({"x": range(9), "y": [*[1.0, 2.0] * 4, 3.0]})
    frame["part"] = [*["train"] * 5, "valid", *["test"] * 3]
    problem = Problem("id", "table", "y", ("x",), task="multiclass")
    findings = check_problem(frame, split_problem(problem, "given", "part"))
    said = [(finding.level, finding.sentence) for finding in findings]
    assert is_found(said, "note", "no training row has, such as '3'")


def test_a_target_without_values_is_an_error():
    assert is_found(found([None] * 60), "error", "'y'", "no value")


def test_fewer_than_three_rows_are_an_error():
    assert is_found(found(["a", "b"]), "error", "2 rows", "at least 3")


def test_missing_targets_are_counted():
    findings = found([*TWO, None], "binary")
    assert is_found(
        findings, "note", "1 row without a value of the target 'y' is left out"
    )


def test_a_class_with_one_row_is_named():
    findings = found([*TWO, "rare"], "multiclass")
    assert is_found(findings, "note", "Class 'rare' has one row only")


def test_text_cannot_be_regressed():
    findings = found(TWO, "regression")
    assert is_found(findings, "error", "'y' holds text such as 'a'", "number column")


def test_more_than_two_classes_are_not_binary():
    findings = found(["a", "b", "c"] * 20, "binary")
    assert is_found(findings, "error", "3 classes", "Choose multiclass")


def test_too_many_classes_are_an_error_with_a_way_out():
    amounts = found(np.arange(500) / 2, "multiclass")
    assert is_found(amounts, "error", "500 classes", "regression")
    ids = found([f"p{i}" for i in range(500)], "multiclass")
    assert is_found(ids, "error", "500 classes", "an id")
    many = found([f"p{i // 3}" for i in range(900)], "multiclass")
    assert is_found(many, "error", "300 different values", "at most 200", "an id")
    classes = found([f"c{i % 200}" for i in range(1000)], "multiclass")
    assert all(finding.level != "error" for finding in classes)


@pytest.mark.parametrize("n", [3, 20, 120, 300])
def test_where_nearly_each_row_is_a_class_of_its_own_nothing_is_learned(n):
    for classes in ([f"p{i}" for i in range(n)], np.arange(n) / 2):
        assert is_found(found(classes, "multiclass"), "error", f"{n} classes in {n}")
    few = n // 4  # two rows of each of some classes, a row of each other
    mixed = [f"p{i}" for i in range(n)] + [f"p{i}" for i in range(few)]
    assert is_found(found(mixed, "multiclass"), "error", "most new rows", "an id")


def test_some_classes_of_one_row_are_no_error():
    alone = [*(f"p{i}" for i in range(49)), *["a", "b"] * 25]
    findings = found(alone, "multiclass")
    assert all(level != "error" for level, _ in findings)
    assert is_found(found(["q", *alone, "r"], "multiclass"), "error", "51 of them")
    pairs = [f"p{i // 2}" for i in range(120)]
    assert all(level != "error" for level, _ in found(pairs, "multiclass"))


def test_two_numbers_may_be_classes():
    assert is_found(
        found([0, 1] * 50, "regression"), "note", "two values only", "binary"
    )


@pytest.mark.parametrize("odd", [np.inf, -np.inf, 1e200])
def test_infinite_values_are_errors_that_name_column_and_row(odd):
    u = np.arange(100.0)
    u[41] = odd
    assert is_found(found(TWO, speed=u), "error", "'speed'", "row 42")
    assert is_found(found(u, "regression"), "error", "target 'y'", "row 42")


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ([np.nan] * 100, "no value in any row"),
        (["x"] * 100, "same value in every row"),
        ([f"p{i}" for i in range(100)], "an id"),
        (np.arange(100), "counts the rows"),
        ([1.0] * 4 + [2.0] * 4 + [np.nan] * 92, "missing in 92% of the rows"),
    ],
)
def test_columns_that_cannot_help_are_named(column, words):
    assert is_found(found(TWO, odd=column), "note", "'odd'", words)


def test_cells_that_a_chosen_kind_loses_are_counted():
    words = ["1", "2", "3", "many"] * 25
    findings = found(TWO, kinds=(("w", "number"),), w=words)
    assert is_found(findings, "note", "'w'", "25 of its cells", "'many'")
    lost = found(TWO, kinds=(("w", "number"),), w=["a", "b", "b", "a"] * 25)
    assert is_found(lost, "error", "'w'", "holds none", "Choose category")


def test_a_column_that_determines_the_target_is_named():
    copy = ["one", "two"] * 50
    assert is_found(found(TWO, again=copy), "note", "'again'", "determines")
    assert not is_found(
        found(TWO, other=["one", "one", "two"] * 33 + ["two"]), "note", "'o"
    )


def test_a_small_table_is_called_one():
    assert is_found(found(["a", "b"] * 10), "note", "20 rows", "uncertain")


def test_absent_columns_are_errors():
    frame = pd.DataFrame({"u": [1, 2, 3], "y": [0, 1, 0]})
    problem = Problem("id", "t", "y", ("u", "w"), task="binary")
    (finding,) = check_problem(frame, problem)
    assert finding.level == "error"
    assert finding.column == "w"
    assert "no column 'w'" in finding.sentence


def test_errors_come_first():
    levels = [level for level, _ in found(["a"] * 10, same=1)]
    assert levels == sorted(levels)
    assert levels[0] == "error"


def test_rows_of_a_missing_target_count_in_the_place_of_an_infinite_value():
    assert is_found(found([None, 1.0, np.inf], "regression"), "error", "in row 3")


def test_training_rows_of_one_class_are_an_error():
    frame = pd.DataFrame({"t": range(40), "y": ["a"] * 33 + ["b"] * 7})
    by_time = {"split_by": "time", "split_column": "t"}
    problem = Problem("id", "t", "y", ("t",), task="binary", **by_time)
    assert "of one class" in check_problem(frame, problem)[0].sentence


@pytest.mark.parametrize("weight", ["", "w"])
@pytest.mark.parametrize("seed", range(20))
def test_a_problem_without_an_error_can_be_split(seed, weight):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    frame = pd.DataFrame(
        {
            "u": rng.choice([1.0, 2.0, np.nan], n),
            "y": rng.choice(np.array(["a", "b", None], dtype=object), n),
            "w": rng.choice([0.0, 1.0], n),
        }
    )
    problem = Problem("id", "t", "y", ("u",), task="binary", weight=weight)
    if any(f.level == "error" for f in check_problem(frame, problem)):
        return
    split = problem.split(frame)
    assert min(len(split.rows(part)[0]) for part in ("train", "valid", "test")) > 0
    assert split.whole().y.nunique() == 2


@pytest.mark.parametrize("step", [1, 2])  # an id, else, by its values, and rare ones
def test_a_column_of_numbers_among_words_is_not_called_an_id_or_rare(step):
    cells = [f"{1000 + i // step}" for i in range(96)] + ["refused"] * 4
    advice = "96 of 100 cells are numbers", "choose number", "“refused”"
    assert is_found(found(TWO, income=cells), "note", *advice)
    for kind, other in (("category", True), ("number", False)):
        chosen = found(TWO, income=cells, kinds=(("income", kind),))
        assert not is_found(chosen, "note", *advice)
        said = any("'income' has" in sentence for _, sentence in chosen)
        assert said == other
