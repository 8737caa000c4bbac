"""Workbooks: sheets, headers, merged cells, dates, and files that are none."""

import datetime
import io

import pandas as pd
import pytest
import xlsxwriter

from tests.data.reading.files import refusal
from tests.data.reading.formats.workbooks import ods, sheet_xml, xlsb, xlsx
from treelab.data.reading import file_format
from treelab.data.reading.formats import guarded
from treelab.data.reading.read_table import read_table
from treelab.data.reading.table_error import ChoiceError
from treelab.trees.cells import CellForm, forms_of

ROWS = [["age", "word"], [31, "a"], [28, "b"], [45.5, "a"]]


def read(content, **choices):
    """The table in a workbook, and the notes as one text."""
    found = read_table(content, "t.xlsx", **choices)
    return found.frame, "\n".join(found.notes)


@pytest.mark.parametrize("write", [lambda rows: xlsx(A=sheet_xml(rows)), ods, xlsb])
def test_a_plain_sheet_is_read_without_a_note(write):
    frame, notes = read(write(ROWS))
    assert notes == ""
    assert frame["age"].tolist() == [31, 28, 45.5]
    assert frame["word"].tolist() == ["a", "b", "a"]


def test_a_cell_of_several_lines_is_the_same_text_in_every_kind_of_file():
    rows = [["age", "word"], [31, "a\nb"], [28, "a b"], [45.5, "c"]]
    frame, notes = read(xlsx(A=sheet_xml(rows)))
    assert frame["word"].tolist() == ["a\nb", "a b", "c"]
    for end in (b"\n", b"\r\n"):
        lines = [b"age,word", b'31,"a%sb"' % end, b"28,a b", b"45.5,c", b""]
        assert read_table(end.join(lines)).frame.equals(frame)
    rows[3][0] = "old"
    _, notes = read(xlsx(A=sheet_xml([*rows, [2, "d"]])))
    assert "'old' on row 4" in notes  # a line break moves no row


def test_errors_of_formulas_are_no_empty_cells_without_a_word():
    rows = [*ROWS, ["=", "b"]]
    frame, notes = read(xlsb(rows))
    assert frame["age"].isna().tolist() == [False, False, False, True]
    assert "a formula's error, such as #DIV/0!, is read as an empty cell" in notes
    assert "sheet 'A' has no value, but shows #DIV/0!" in refusal(ods(rows))


def test_formulas_that_nobody_has_calculated_are_refused():
    content = io.BytesIO()
    book = xlsxwriter.Workbook(content, {"in_memory": True})
    sheet = book.add_worksheet("A")
    for i, row in enumerate(ROWS):
        sheet.write_row(i, 0, row)
    sheet.write_formula(4, 0, "=A2+A3")  # as programs write it, with the result 0
    book.close()
    assert "formulas in the sheet 'A' have no results" in refusal(content.getvalue())


def test_a_sheet_is_chosen_where_several_are_filled():
    book = xlsx(People=sheet_xml(ROWS), Empty=sheet_xml([]), More=sheet_xml(ROWS[:3]))
    with pytest.raises(ChoiceError, match="2 sheets: 'People', 'More'") as caught:
        read(book)
    assert caught.value.choices == ["People", "More"]
    frame, notes = read(book, sheet="More")
    assert len(frame) == 2
    assert "The sheet 'More' was read" in notes
    with pytest.raises(ChoiceError, match="no sheet 'more'"):
        read(book, sheet="more")


def test_dates_stay_dates_and_bad_cells_are_named_by_their_row():
    days = [datetime.date(2019, 1, 1), datetime.date(2020, 1, 1), None]
    rows = [["day", "flag", "code", "n"]]
    rows += [[day, i > 0, f"0{i}7", 5 * i] for i, day in enumerate(days)]
    rows += [[None, True, "097", "many"]]
    frame, notes = read(xlsx(A=sheet_xml(rows)))
    assert frame["day"].dropna().tolist() == [2019.0, 2020.0]
    assert frame["flag"].tolist() == ["False", "True", "True", "True"]
    assert frame["code"].tolist() == ["007", "017", "027", "097"]
    assert "'many' on row 5" in notes


def with_times(cells, style="h:mm"):
    """A workbook with a column "at", numbers in the format of a time, and a "y"."""
    content = io.BytesIO()
    book = xlsxwriter.Workbook(content, {"in_memory": True})
    sheet = book.add_worksheet("A")
    styles = [book.add_format({"num_format": own}) for own in (style, "[h]:mm:ss")]
    sheet.write_row(0, 0, ["at", "y"])
    for i, cell in enumerate(cells, start=1):
        sheet.write(i, 0, cell, styles[isinstance(cell, float) and cell >= 1])
        sheet.write(i, 1, i % 3)
    book.close()
    return content.getvalue()


def test_times_are_hours_as_those_of_parquet_are():
    cells = [i / 1440 for i in range(600, 1400, 7)]
    seconds = [round(86400 * cell) for cell in cells]
    times = [datetime.time(s // 3600, s // 60 % 60, s % 60) for s in seconds]
    typed = io.BytesIO()
    pd.DataFrame({"at": times, "y": 0}).to_parquet(typed, index=False)
    hours = read_table(typed.getvalue()).frame["at"].tolist()
    frame, notes = read(with_times(cells))
    assert frame["at"].tolist() == hours
    assert "Column 'at' holds times, which became hours." in notes
    longer, _ = read(with_times([*cells, None, 1.25]))  # a day and 6 hours
    assert longer["at"].dropna().tolist() == [*hours, 30.0]


def test_times_and_durations_of_opendocument_are_hours():
    hours = [9.5, 0.25, 30.0, 123.5, -3.0]
    times = [datetime.timedelta(hours=h) for h in hours]
    frame, notes = read(ods([["at", "n"], *([t, i] for i, t in enumerate(times))]))
    assert frame["at"].tolist() == hours
    assert notes == "Column 'at' holds times, which became hours."
    again, _ = read(ods([["at", "n"], [times[3], 1]]), as_in=forms_of(frame))
    assert again["at"].tolist() == [123.5]


def test_times_of_workbooks_and_of_text_are_the_same_hours_beyond_a_day_too():
    minutes = [*range(0, 1440, 37), 1800, 3605]
    clock = [f"{m // 60}:{m % 60:02}" for m in minutes]
    times = [datetime.timedelta(minutes=m) for m in minutes]
    lines = ["at,y", *(f"{own},{i % 3}" for i, own in enumerate(clock))]
    files = [
        with_times([m / 1440 for m in minutes]),
        ods([["at", "y"], *([time, i % 3] for i, time in enumerate(times))]),
        "\n".join(lines).encode(),
    ]
    frames = [read_table(content).frame for content in files]
    for content in files:
        for frame in frames:
            found = read_table(content, as_in=forms_of(frame)).frame["at"]
            assert found.tolist() == [m / 60 for m in minutes]


def test_times_beside_words_and_where_training_rows_held_text_are_text():
    frame, notes = read(with_times([0.25, 0.5, "closed"] * 9))
    assert set(frame["at"]) == {"06:00:00", "12:00:00", "closed"}
    assert "became hours" not in notes
    forms = forms_of(frame)
    again = read_table(with_times([0.25, 0.5] * 9), as_in=forms).frame["at"]
    assert set(again) == {"06:00:00", "12:00:00"}
    plain, _ = read(with_times([6, 12] * 9, "0"))
    assert set(read_table(with_times([0.25]), as_in=forms_of(plain)).frame["at"]) == {6}
    days = read_table(with_times([0.25]), as_in={"at": CellForm(unit="days")})
    assert set(days.frame["at"]) == {0.25}


def test_titles_above_the_table_are_left_out_and_named():
    rows = [["Prices of 2024"], [], *ROWS]
    frame, notes = read(xlsx(A=sheet_xml(rows, ("A1:B1",))))
    assert list(frame.columns) == ["age", "word"]
    assert "begins in row 3" in notes
    assert "in row 1, is left out" in notes


def test_merged_headers_are_joined_with_the_names_below():
    rows = [
        ["place", "sales", None, "cost", None],
        [None, "2023", "2024", "2023", "2024"],
        ["Bern", 1, 2, 3, 4],
        ["Basel", 5, 6, 7, 8],
    ]
    merged = {"place": (2, 1), "sales": (1, 2), "cost": (1, 2)}
    book = xlsx(A=sheet_xml(rows, ("A1:A2", "B1:C1", "D1:E1")))
    for frame, notes in (read(book), read(ods(rows, merged))):
        assert list(frame.columns) == [
            *("place", "sales 2023", "sales 2024"),
            *("cost 2023", "cost 2024"),
        ]
        assert frame["cost 2024"].tolist() == [4, 8]
        assert "rows 1 to 2" in notes


def test_merged_cells_below_the_header_hold_their_value_in_each_row():
    rows = [["place", "n"], ["Bern", 1], [None, 2], ["Basel", 3]]
    book = xlsx(A=sheet_xml(rows, ("A2:A3",)))
    for frame, notes in (read(book), read(ods(rows, {"Bern": (2, 1)}))):
        assert frame["place"].tolist() == ["Bern", "Bern", "Basel"]
        assert "Merged cells below the header (1, the first in row 2)" in notes


def test_the_row_of_the_header_can_be_set():
    rows = [["some", "words"], ["x", "y"], [1, 2], [3, 4]]
    assert list(read(xlsx(A=sheet_xml(rows)), header=2)[0].columns) == ["x", "y"]
    numbers = xlsx(A=sheet_xml([[1, 2], [3, 4]]))
    assert list(read(numbers, header=0)[0].columns) == ["column_1", "column_2"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (xlsx(A=sheet_xml([])), "the sheet 'A' is empty"),
        (xlsx(A=sheet_xml(ROWS[:1])), "names columns but has no rows"),
        (xlsx(A=sheet_xml(ROWS))[:700], "damaged or cut off"),
        (xlsx(A=sheet_xml(ROWS)[:200]), "cannot be read as a workbook"),
        (xlsx(A="no sheet"), "it is damaged, cut off, or no workbook"),
    ],
)
def test_what_is_no_table_is_refused_in_a_sentence(content, words):
    assert words in refusal(content, "t.xlsx")


def test_a_sheet_of_two_far_corners_does_not_take_all_memory():
    corners = '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576">'
    corners += '<c r="XFD1048576"><v>1</v></c></row>'
    sheet = sheet_xml([]).replace("<sheetData>", f"<sheetData>{corners}")
    sentence = refusal(xlsx(A=sheet), "t.xlsx")
    assert "1.5 GiB of memory" in sentence


def test_a_workbook_that_unpacks_to_gigabytes_is_refused_before(monkeypatch):
    monkeypatch.setattr(file_format, "MOST_UNPACKED", 2**20)
    book = xlsx(A=sheet_xml(ROWS) + " " * 2**21)
    assert len(book) < 2**14
    assert "unpacks to" in refusal(book, "t.xlsx")


def test_a_file_that_takes_too_long_is_given_up(monkeypatch):
    monkeypatch.setattr(guarded, "MOST_SECONDS", 0.001)
    assert "to read. Save" in refusal(xlsx(A=sheet_xml(ROWS)), "t.xlsx")
