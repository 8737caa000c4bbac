"""What a column holds is found from its values, and the reason says so."""

import numpy as np
import pandas as pd
import pytest

from treelab.data.column_meaning import column_meaning, describe_columns, level_order
from treelab.data.reading.read_table import read_table
from treelab.trees.cells import HOURS, CellForm, note_forms
from treelab.trees.dates import decimal_years

DAYS = pd.Series(pd.date_range("2020-01-03", periods=60, freq="9D"))
TEXTS = [f"the patient came {i} times to see the doctor" for i in range(40)]


@pytest.mark.parametrize(
    ("values", "kind", "words"),
    [
        (np.arange(60) / 7, "number", "60 different numbers, 0 to 8.42"),
        (np.arange(60) * 3, "whole number", "60 different whole numbers, 0 to 177"),
        (np.arange(200) ** 2, "possible id", "39,601, each once: an amount, or"),
        (np.arange(200) ** 2 // 9, "whole number", "different whole numbers, 0 to"),
        (np.arange(60) % 5, "integer code", "Only 5 different whole numbers, 0 to 4"),
        (np.arange(60), "id", "count the rows"),
        (np.arange(60) % 2, "yes or no", "0 and 1"),
        ([True, False] * 30, "yes or no", "“False” and “True”"),
        (["no", "yes", None] * 20, "yes or no", "“no” and “yes”"),
        (decimal_years(DAYS), "date", "from 2020-01-03 on"),
        (decimal_years(DAYS + pd.Timedelta("5h")), "date and time", "2020-01-03"),
        (["low", "high", "medium"] * 20, "ordered category", "“low” to “high”"),
        (["red", "green", "blue"] * 20, "category", "3 different texts"),
        ([*TEXTS, *TEXTS[:20]], "text", "9 words a cell"),
        ([f"person {i}" for i in range(60)], "id", "60 different values"),
        ([7] * 60, "constant", "Every row holds 7."),
        ([7, None] * 30, "constant", "holds 7, or none"),
        ([None] * 60, "empty", "No row"),
    ],
)
def test_the_kind_and_its_reason_are_found(values, kind, words):
    found = column_meaning(pd.Series(values))
    assert found.kind == kind
    assert words in found.reason


def test_hours_that_were_written_as_times_are_times():
    frame = pd.DataFrame({"begun": np.arange(40) / 4, "took": np.arange(40) / 4})
    forms = {name: CellForm(unit=HOURS, example="0.25 hours") for name in frame}
    note_forms(frame, forms | {"begun": CellForm(unit=HOURS, times="h:mm")})
    begun, took = describe_columns(frame)[["meaning", "reason"]].to_numpy()
    assert begun[0] == "time"
    assert begun[1].startswith("40 different times, 0:00 to 9:45, held as hours")
    assert took[0] == "number"


@pytest.mark.parametrize(
    "order",
    [
        ["low", "medium", "high"],
        ["Mon", "Tue", "Fri"],
        ["<20", "20-29", "30 to 39", "40+"],
        ["2", "3", "4", "5more"],
        ["S", "M", "XL"],
        ["under 5", "5–10", "10 or more"],
    ],
)
def test_categories_with_an_order_are_put_into_it(order):
    assert level_order(sorted(order)) == order


@pytest.mark.parametrize(
    "levels", [["red", "green", "blue"], ["01", "02", "03"], ["low", "high"], ["1-2"]]
)
def test_other_categories_have_no_order(levels):
    assert level_order(levels) is None


def test_columns_are_described_and_the_useless_ones_named():
    n = 40
    frame = pd.DataFrame(
        {
            "good": np.arange(n) % 7,
            "word": ["a", None] * (n // 2),
            "empty": np.nan,
            "same": "x",
            "name": [f"person {i}" for i in range(n)],
            "row": np.arange(1, n + 1),
            "reading": np.arange(n) / 3,
        }
    )
    described = describe_columns(frame).set_index("column")
    assert described.note.to_dict() == {
        "good": "",
        "word": "",
        "empty": "all missing",
        "same": "constant",
        "name": "looks like an id",
        "row": "looks like a row number",
        "reading": "",
    }
    plain = described.drop(columns=["meaning", "reason"])
    assert plain.loc["word"].to_dict() == {
        "kind": "category",
        "missing_share": 0.5,
        "n_unique": 1,
        "example": "a",
        "note": "",
    }
    assert described.loc["empty", "example"] == ""


def test_an_empty_frame_is_described_without_columns():
    assert describe_columns(pd.DataFrame()).empty


def test_the_example_is_a_cell_as_it_is_written():
    text = b"n,price,at,word\n1,$5,31/01/2021,b\n,$1.50,01/02/2021,a\n"
    found = describe_columns(read_table(text).frame).set_index("column")["example"]
    assert found.to_dict() == {
        "n": "1",
        "price": "$1.50",
        "at": "31/01/2021",
        "word": "b",
    }
    frame = pd.DataFrame({"n": [1.0, np.nan], "half": [0.5, 1]})
    assert describe_columns(frame)["example"].tolist() == ["1", "0.5"]


@pytest.mark.parametrize("step", [1, 40])  # an id, else, by its values, and a category
def test_numbers_among_words_are_told_from_ids_and_categories(step):
    cells = [f"${1000 + i // step:,}" for i in range(98)] + ["refused", "refused"]
    text = "".join(f'"{cell}",{i % 3}\n' for i, cell in enumerate(cells))
    found = describe_columns(read_table(f"income,y\n{text}".encode(), "t.csv").frame)
    assert found["meaning"][0] == "numbers and words"
    assert "98 of 100 cells are numbers, such as “$1,000”: choose" in found["reason"][0]
    assert "“refused”, count as missing" in found["reason"][0]
