"""The prediction of a row does not depend on the rows and columns beside it."""

import io
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treelab import CartClassifier, load
from treelab.data.problem import Problem
from treelab.data.reading.read_table import read_table
from treelab.evaluation.comparison import typical_row
from treelab.evaluation.predictions import new_table
from treelab.learners.common import certainty
from treelab.trees.feature import forms_of_model

WORDS = (
    *("none", "NA", "inf", "1.10", "1.1", "1E5", "007", "7", "5%", "12%", "unknown"),
    *("jan", "", "?", "-", "1,234", "1.234,5", "0.5", "-3", "TRUE", "false", "$5"),
    *("31/01/2021", "03/11/2021", "2021-02-03", "1 234", "a b", "é", "null", "12"),
)
# Columns as people have them, and any mixture of words.
POOLS = (
    *(WORDS, ("1.5", "2.25", "7", "NA"), ("1,5", "2,25", "7", ""), ("5%", "12%", "7%")),
    *(
        ("1,234", "5,678.5", "12"),
        ("31/01/2021", "03/11/2021", "11/03/2021"),
        ("7", "8"),
    ),
    *(("mild", "none", "severe"), ("V22", "7.10", "7.1"), ("1", "unknown", "2", "A1")),
    *(("2021-02-03", "2020-12-31", "?"), ("$5", "$1,200.50"), ("TRUE", "FALSE")),
)


@st.composite
def tables(draw) -> pd.DataFrame:
    """Draw a table of text cells, with a target that its columns partly explain."""
    n_rows = draw(st.integers(12, 30))
    columns = {}
    for name in ("a", "b")[: draw(st.integers(1, 2))]:
        pool = draw(st.sampled_from(POOLS))
        cells = st.lists(st.sampled_from(pool), min_size=n_rows, max_size=n_rows)
        columns[name] = draw(cells)
    frame = pd.DataFrame(columns).assign(n=[str(i % 5) for i in range(n_rows)])
    number = frame.iloc[:, 0].map({word: i for i, word in enumerate(WORDS)})
    parity = (number.fillna(frame.iloc[:, 0].str.len()) + np.arange(n_rows) % 2) % 2
    frame["y"] = np.where(parity == 1, "p", "q")
    frame.loc[0, "y"], frame.loc[1, "y"] = "p", "q"
    return frame


def csv(frame: pd.DataFrame, delimiter: str = ",") -> bytes:
    """Write text cells as a delimited text."""
    return frame.to_csv(index=False, sep=delimiter).encode()


def excel(frame: pd.DataFrame) -> bytes:
    """Write text cells as a workbook."""
    file = io.BytesIO()
    frame.to_excel(file, index=False)
    return file.getvalue()


def parquet(frame: pd.DataFrame) -> bytes:
    """Write text cells as Parquet."""
    return frame.to_parquet(index=False)


def fitted(frame: pd.DataFrame, folder: Path, delimiter: str = ","):
    """Train on the file of a table, as a run does, and load the saved model again."""
    read = read_table(csv(frame, delimiter), "train.csv").frame
    columns = tuple(name for name in read.columns if name != "y")
    problem = Problem("", "train.csv", "y", columns, task="binary")
    model = CartClassifier(tune=False, max_leaf_nodes=16, random_state=0)
    # How far probabilities are shrunk would take most of the time to measure.
    with patch.object(certainty, "FEWEST_ROWS", np.inf):
        model.fit(problem.table(read), problem.labels(read))
    model.tree_.save(folder / "model.treelab")
    return load(folder / "model.treelab")


def predicted(model, content: bytes) -> list:
    """Predict a file as the command does."""
    read = read_table(content, "new", as_in=forms_of_model(model), one_column=True)
    return model.predict_proba(new_table(model, read.frame, "new").X).tolist()


def check_that_rows_are_predicted_alike(folder: Path, frame: pd.DataFrame, data):
    """Predict some rows in any order, with any columns beside, from any format."""
    model = fitted(frame, folder)
    all_rows = predicted(model, csv(frame))
    rows = data.draw(
        st.lists(st.integers(0, len(frame) - 1), min_size=1, max_size=6), label="rows"
    )
    part = frame.iloc[rows].reset_index(drop=True)
    expected = [all_rows[row] for row in rows]
    columns = data.draw(st.permutations(["a", "n", "y", "more"]), label="columns")
    part = part.assign(more="x;y").reindex(
        columns=[*columns, *(name for name in part if name not in columns)]
    )
    part = part.drop(columns="y") if data.draw(st.booleans()) else part
    delimiter = data.draw(st.sampled_from([",", ";", "\t"]))
    assert predicted(model, csv(part, delimiter)) == expected
    assert predicted(model, parquet(part)) == expected
    assert model.predict_proba(part.drop(columns="more")).tolist() == expected
    if data.draw(st.integers(0, 9)) == 0:  # a workbook takes its time
        assert predicted(model, excel(part)) == expected


@pytest.mark.slow
@pytest.mark.timeout(900)
@settings(max_examples=60)
@given(tables(), st.data())
def test_rows_of_60_tables_are_predicted_alike(tmp_path_factory, frame, data):
    check_that_rows_are_predicted_alike(tmp_path_factory.mktemp("m"), frame, data)


def test_the_cells_come_back_as_they_came(tmp_path):
    frame = pd.DataFrame({"a": ["7.10", "7.1", "V22"] * 8, "n": ["1", "2", "3"] * 8})
    frame["y"] = np.where(frame["a"] == "7.1", "q", "p")
    model = fitted(frame, tmp_path)
    content = b"a,n,note\n7.10,1,NA\n7.1,2,1E5\n"
    read = read_table(content, "new.csv", as_in=forms_of_model(model))
    assert read.written.to_csv(index=False).encode() == content
    assert read.frame["a"].tolist() == ["7.10", "7.1"]
    assert model.predict(read.frame).tolist() == ["p", "q"]


def test_a_number_that_may_be_two_categories_is_refused(tmp_path):
    frame = pd.DataFrame({"a": ["7.10", "7.1", "V22"] * 8, "n": ["1", "2", "3"] * 8})
    frame["y"] = np.where(frame["a"] == "7.1", "q", "p")
    model = fitted(frame, tmp_path)
    with pytest.raises(ValueError, match=r"7\.1 in row 2.*'7\.1' or '7\.10'.*as text"):
        model.predict(pd.DataFrame({"a": [2.5, 7.1], "n": [1, 2]}))


@pytest.mark.parametrize(
    ("cells", "cell", "seen"),
    [
        (
            ["31/01/2021", "03/11/2021"],
            "2021.5",
            "dates, day first, such as '31/01/2021'",
        ),
        (["1,5", "2,25"], "1.5", "numbers with decimal commas, such as '1,5'"),
        (["5%", "7%"], "0.05", "numbers in %, such as '5%'"),
        (["1,234.5", "2"], "1.234,5", "numbers with commas between thousands"),
        (["1.5", "2"], "5%", "numbers"),
    ],
)
def test_a_cell_that_is_written_otherwise_is_refused(cells, cell, seen, tmp_path):
    frame = pd.DataFrame({"a": cells * 10})
    frame["y"] = np.where(frame["a"] == cells[0], "q", "p")
    model = fitted(frame, tmp_path, ";")
    with pytest.raises(ValueError, match=f"holds '{cell}' in line 3, .* held {seen}"):
        predicted(model, f"a;b\n{cells[0]};x\n{cell};x\n".encode())
    with pytest.raises(ValueError, match=f"holds '{cell}' in row 2, .* held {seen}"):
        model.predict(pd.DataFrame({"a": [cells[0], cell]}))


def typed_files(frame: pd.DataFrame) -> list[bytes]:
    """Write a table as files that tell numbers from text."""
    lines = frame.to_json(orient="records", lines=True).encode()
    return [excel(frame), parquet(frame), lines]


def test_a_typed_number_that_may_be_two_codes_is_refused_everywhere(tmp_path):
    for cells, number, shown in [
        (["7.10", "7.1", "V22"], 7.1, "'7.1' or '7.10'"),
        (["007", "7", "0070"], 7, "'007' or '7'"),
    ]:
        frame = pd.DataFrame({"a": cells * 8})
        frame["y"] = np.where(frame["a"] == cells[1], "q", "p")
        model = fitted(frame, tmp_path)
        new = pd.DataFrame({"a": [number], "n": [1]})
        with pytest.raises(ValueError, match=f"'a' holds the number .*{shown}"):
            model.predict(new)
        for content in typed_files(new):
            with pytest.raises(ValueError, match=f"'a' holds the number .*{shown}"):
                predicted(model, content)


def test_a_typed_number_is_the_one_code_that_it_may_be(tmp_path):
    frame = pd.DataFrame({"a": ["007", "12", "x"] * 8})
    frame["y"] = np.where(frame["a"] == "007", "q", "p")
    model = fitted(frame, tmp_path)
    new = pd.DataFrame({"a": [12, 7], "n": [1, 2]})
    for content in typed_files(new):
        assert predicted(model, content) == model.predict_proba(new).tolist()
    assert model.predict(new).tolist() == ["p", "q"]


@pytest.mark.parametrize(
    ("cells", "typed"),
    [
        (["5%", "90%"], [0.05, 0.9]),
        (["31/01/2021", "01/11/2020"], [20210131, 20201101]),
        (["1.5", "7.5"], pd.to_datetime(["2020-01-31", "2021-01-31"])),
        (["1.5", "7.5"], [True, False]),
    ],
)
def test_typed_columns_of_another_kind_are_refused_in_a_frame_too(
    cells, typed, tmp_path
):
    frame = pd.DataFrame({"a": cells * 10})
    frame["y"] = np.where(frame["a"] == cells[0], "q", "p")
    model = fitted(frame, tmp_path)
    new = pd.DataFrame({"a": typed})
    for read in (lambda: model.predict(new), lambda: predicted(model, parquet(new))):
        with pytest.raises(ValueError, match="but the training rows held"):
            read()
    own = read_table(csv(frame), as_in=forms_of_model(model)).frame
    assert model.predict(own).tolist() == frame["y"].tolist()
    assert model.predict(typical_row(own[["a"]]))[0] in ("p", "q")


def test_true_is_not_1_whatever_stands_beside_it(tmp_path):
    frame = pd.DataFrame({"a": ["True", "1", "b", "1.5"] * 8})
    frame["y"] = np.where(frame["a"] == "1", "q", "p")
    cells = pd.Series([1, True, "b", 1.5] * 8, dtype=object)
    y = ["qppp"[row % 4] for row in range(32)]
    own = CartClassifier(tune=False).fit(pd.DataFrame({"a": cells}), y)
    for model in (fitted(frame, tmp_path), own.tree_):
        for rows in ([0], [1], [1, 0], [0, 1, 2, 3]):
            new = pd.DataFrame({"a": cells[rows].reset_index(drop=True)})
            lines = new.to_json(orient="records", lines=True).encode()
            alone = ["qppp"[row] for row in rows]
            for found in (model.predict_proba(new), predicted(model, lines)):
                classes = np.array(model.classes)[np.argmax(found, axis=1)]
                assert classes.tolist() == alone


def test_whole_numbers_of_many_digits_are_the_codes_that_they_are(tmp_path):
    codes = [2**60, 2**60 + 1]
    frame = pd.DataFrame({"a": list(map(str, codes)) * 8, "y": ["p", "q"] * 8})
    model = fitted(frame, tmp_path)
    assert model.features[0].cell(2**60 + 2) == str(2**60 + 2)
    for new in (pd.DataFrame({"a": codes}), pd.DataFrame({"a": codes[1:]})):
        expected = ["p", "q"][-len(new) :]
        assert model.predict(new).tolist() == expected
        for content in typed_files(new)[1:]:
            found = np.argmax(predicted(model, content), axis=1)
            assert [model.classes[k] for k in found] == expected
        with pytest.raises(ValueError, match="holds the number"):  # it lost digits
            predicted(model, excel(new))


def test_numbers_among_text_objects_are_read_alike_in_any_order():
    cells = [1, "1", 1.0, "a", 2.5, "2.5"] * 6
    y = np.where([str(cell)[0] == "1" for cell in cells], "p", "q")
    frame = pd.DataFrame({"a": pd.Series(cells, dtype=object)})
    for order in (slice(None), slice(None, None, -1)):
        model = CartClassifier(tune=False, random_state=0)
        model.fit(frame[order], y[order])
        assert model.tree_.features[0].categories == ("1", "2.5", "a")
        assert model.predict(frame).tolist() == y.tolist()
        for cell, label in zip(cells, y):
            alone = pd.DataFrame({"a": pd.Series([cell], dtype=object)})
            assert model.tree_.predict(alone).tolist() == [label]


def test_spaces_around_the_categories_of_a_data_frame_are_known_in_a_file():
    frame = pd.DataFrame({"job": [" Private", " Gov", "Self "] * 9, "n": range(27)})
    tree = CartClassifier(tune=False).fit(frame[["job"]], frame["n"] % 3 == 1).tree_
    file = io.BytesIO()
    frame.to_parquet(file)
    for content in (frame.to_csv(index=False).encode(), file.getvalue()):
        found = read_table(content, as_in=forms_of_model(tree))
        table = new_table(tree, found.frame, "new.csv")
        assert not table.notes
        assert tree.predict(table.X).tolist() == tree.predict(frame).tolist()
