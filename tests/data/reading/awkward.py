"""Awkward files as one list: what is in each, and what has to come of it.

Each is read right, or refused in a sentence that says where and what to do.
"""

import datetime
import gzip
import io
import sqlite3
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from tests.data.reading.formats.workbooks import ods, sheet_xml, xlsx, zipped

PLAIN = "size,kind\n1,a\n2,b\n3,a\n"
READ = {"size": [1, 2, 3], "kind": ["a", "b", "a"]}
DAYS = [2020 + 30 / 366, 2020 + 31 / 366]  # the last of January, the first of February
ROWS = [["size", "kind"], [1, "a"], [2, "b"], [3, "a"]]
GERMAN = "größe;art\n1,5;Käse\n-2,25;Öl\n"


class Awkward(NamedTuple):
    """A file, the options it is read with, and its columns or why it is refused."""

    name: str
    content: Callable[[], bytes] | str | bytes
    found: dict[str, list] | str
    options: Mapping[str, Any] = MappingProxyType({})
    is_slow: bool = False  # read in a process of its own

    def bytes(self) -> bytes:
        """The file."""
        content = self.content() if callable(self.content) else self.content
        return content.encode() if isinstance(content, str) else content


def dated(first: str, second: str) -> str:
    """A table with a column of two dates."""
    return f"day;n\n{first};1\n{second};2\n"


def parquet(frame: pd.DataFrame, **more) -> bytes:
    """A table as Parquet."""
    file = io.BytesIO()
    frame.to_parquet(file, index=False, **more)
    return file.getvalue()


def commas(n_bytes: int) -> bytes:
    """Gzipped lines of commas, which take a thousandth of their bytes."""
    return gzip.compress((b"," * 63 + b"\n") * (n_bytes // 64), compresslevel=1)


def long_word() -> bytes:
    """Parquet that holds one long word once, and that it stands in each row."""
    column = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(20_000, dtype=np.int32)), pa.array(["x" * 200_000])
    )
    file = io.BytesIO()
    pyarrow.parquet.write_table(
        pa.table({"word": column, "n": np.arange(20_000) % 7}), file
    )
    return file.getvalue()


def database(*statements: str) -> bytes:
    """An SQLite database."""
    with sqlite3.connect(":memory:") as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        content = connection.serialize()
    connection.close()
    return content


def corners() -> bytes:
    """A sheet with a cell in its first and one in its last corner."""
    cells = '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576">'
    cells += '<c r="XFD1048576"><v>1</v></c></row>'
    return xlsx(A=sheet_xml([]).replace("<sheetData>", f"<sheetData>{cells}"))


ENCODINGS = [
    Awkward("utf-8 with a mark", "\ufeff" + PLAIN, READ),
    *(
        Awkward(encoding, GERMAN.encode(encoding), {"größe": [1.5, -2.25]})
        for encoding in ("utf-8", "cp1252", "utf-16", "iso8859-15")
    ),
    Awkward(
        "japanese",
        ("size,種類\n" + "1,犬です\n2,猫です\n" * 20).encode("shift_jis"),
        {"種類": ["犬です", "猫です"] * 20},
        {"encoding": "shift_jis"},
    ),
    Awkward(
        "an encoding that was named",
        "size,kind\n1,ž\n2,š\n".encode("cp1250"),
        {"kind": ["ž", "š"]},
        {"encoding": "cp1250"},
    ),
    Awkward(
        "a wrong encoding", GERMAN.encode("cp1252"), "utf-8", {"encoding": "utf-8"}
    ),
    Awkward("utf-16 without a mark", GERMAN.encode("utf-16-le"), "not a text file"),
    Awkward(
        "utf-16 that was named",
        GERMAN.encode("utf-16-le"),
        {"größe": [1.5, -2.25]},
        {"encoding": "utf-16-le"},
    ),
    Awkward("null bytes", b"size,kind\n1,a\n\0\0,b\n", "not a text file"),
]
DELIMITERS = [
    *(
        Awkward(f"delimiter {sign!r}", PLAIN.replace(",", sign), READ)
        for sign in (";", "\t", "|", "   ")
    ),
    Awkward("Excel's first line", "sep=;\n" + PLAIN.replace(",", ";"), READ),
    Awkward(
        "delimiters in quotes",
        'size,kind\n1,"a, b; c"\n2,"say ""hi"""\n',
        {"kind": ["a, b; c", 'say "hi"']},
    ),
    Awkward(
        "line breaks in quotes",
        'size,kind\n1,"two\nlines"\n2,b\n',
        {"kind": ["two\nlines", "b"], "size": [1, 2]},
    ),
    Awkward("an open quote", 'size,kind\n1,"a\n2,b\n3,c\n', "line 2"),
    Awkward("lines of Windows", PLAIN.replace("\n", "\r\n"), READ),
    Awkward("lines of an old Mac", PLAIN.replace("\n", "\r"), READ),
    Awkward("a short row", "a,b,c\n1,2,3\n4,5\n6,7,8\n", "line 3"),
    Awkward("a long row", "a,b\n1,2\n3,4,5,6\n", "line 3"),
    Awkward(
        "a delimiter at each end", "a;b;\n1;2;\n3;4;\n", {"a": [1, 3], "b": [2, 4]}
    ),
    Awkward("blank lines between", "a,b\n\n1,2\n\n3,4\n\n", {"a": [1, 3]}),
]
NUMBERS = [
    Awkward("decimal commas", "x;y\n1,5;u\n2,25;v\n", {"x": [1.5, 2.25]}),
    Awkward(
        "decimal commas and points",
        "x;y\n1.234,5;u\n-2.000,25;v\n",
        {"x": [1234.5, -2000.25]},
    ),
    Awkward(
        "thousands in English",
        'x,y\n"1,234.5",u\n"2,000,000",v\n',
        {"x": [1234.5, 2_000_000]},
    ),
    Awkward("thousands in Swiss", "x;y\n1'234.5;u\n2'000;v\n", {"x": [1234.5, 2000]}),
    Awkward(
        "a decimal sign that was named",
        "x;y\n1,234;u\n2,5;v\n",
        {"x": [1.234, 2.5]},
        {"decimal": ","},
    ),
    Awkward("currencies", "x,y\n$1.50,u\n$2.00,v\n", {"x": [1.5, 2.0]}),
    Awkward("percent", "x,y\n10%,u\n25%,v\n", {"x": [10, 25]}),
    Awkward("leading zeros", "zip,y\n01234,1\n00042,2\n", {"zip": ["01234", "00042"]}),
    Awkward(
        "long ids",
        "id,y\n12345678901234567,1\n12345678901234568,2\n",
        {"id": ["12345678901234567", "12345678901234568"]},
    ),
    Awkward("infinite", "x,y\ninf,1\n2,2\n1e999,3\n", {"x": [np.nan, 2, np.nan]}),
    Awkward("marks of missing", "x,y\nNA,1\n?,2\n,3\n4,4\n", {"x": [np.nan] * 3 + [4]}),
    Awkward(
        "one word among numbers",
        "x,y\n" + "1,2\n" * 9 + "oops,3\n",
        {"x": ["1"] * 9 + ["oops"]},
    ),
]
DATES = [
    *(
        Awkward(f"dates as {a}", dated(a, b), {"day": DAYS})
        for a, b in (
            ("2020-01-31", "2020-02-01"),
            ("31.1.2020", "1.2.2020"),
            ("31/01/2020", "01/02/2020"),
            ("1/31/2020", "2/1/2020"),
            ("31 Jan 2020", "1 Feb 2020"),
            ("January 31, 2020", "February 1, 2020"),
            ("2020/01/31", "2020/02/01"),
        )
    ),
    Awkward(
        "day or month first",
        dated("1/2/2020", "3/4/2020"),
        {"day": ["1/2/2020", "3/4/2020"]},
    ),
    Awkward(
        "a day that is none",
        dated("31.2.2020", "1.3.2020"),
        {"day": ["31.2.2020", "1.3.2020"]},
    ),
]
NAMES = [
    Awkward("one name twice", "x,x,y\n1,2,3\n4,5,6\n", {"x": [1, 4], "y": [3, 6]}),
    Awkward("no name", "x,,y\n1,2,3\n4,5,6\n", {"x": [1, 4], "y": [3, 6]}),
    Awkward(
        "markup as names",
        "<script>alert(1)</script>,$x$\n1,2\n3,4\n",
        {"<script>alert(1)</script>": [1, 3], "$x$": [2, 4]},
    ),
    Awkward("formulas as cells", "x,y\n=1+1,1\n@sum,2\n", {"x": ["=1+1", "@sum"]}),
    Awkward("no header", "1,a\n2,b\n3,c\n", {"column_1": [1, 2, 3]}),
    Awkward("names and no rows", "a,b\n", "t"),
    Awkward("one column", "a\n1\n2\n", "one column only"),
    Awkward("nothing", "", "is empty"),
    Awkward("spaces", " \n\n ", "is empty"),
]
OTHERS = [
    Awkward("parquet", parquet(pd.DataFrame(READ)), READ),
    Awkward("truncated parquet", parquet(pd.DataFrame(READ))[:-40], "damaged Parquet"),
    Awkward("a word of gigabytes", long_word, "more than 256 MiB"),
    Awkward(
        "commas that unpack",
        lambda: commas(300 * 2**20),
        "more than 256 MiB",
        is_slow=True,
    ),
    Awkward("gzip", gzip.compress(PLAIN.encode()), READ),
    Awkward("truncated gzip", gzip.compress(PLAIN.encode() * 9)[:-9], "damaged gzip"),
    Awkward("a zip of one table", zipped(a_0_csv=PLAIN), READ),
    Awkward(
        "a zip of two tables",
        zipped(a_0_csv=PLAIN, b_0_csv=PLAIN),
        "Choose one",
        is_slow=False,
    ),
    Awkward("a truncated zip", zipped(a_0_csv=PLAIN)[:-30], "zip"),
    Awkward(
        "json lines",
        '{"size": 1, "kind": "a"}\n{"kind": "b", "size": 2}\n',
        {"size": [1, 2]},
    ),
    Awkward("a json list", '[{"size": 1}, {"size": 2}]', "JSON lines"),
    Awkward("a web page", "<!DOCTYPE html><html></html>", "web page"),
    Awkward("a picture", b"\x89PNG\r\n\x1a\n" + bytes(99), "an image"),
    Awkward("a pickle", b"\x80\x04\x95" + bytes(99), "Python pickle"),
    Awkward("an HDF5 file", b"\x89HDF" + bytes(99), "an HDF5 file"),
    Awkward(
        "a database",
        lambda: database(
            "CREATE TABLE t(a, b)", "INSERT INTO t VALUES (1, 'x'), (2, 'y')"
        ),
        {"a": [1, 2]},
    ),
    Awkward(
        "a database of two tables",
        lambda: database("CREATE TABLE t(a)", "CREATE TABLE u(a)"),
        "2 tables",
    ),
    Awkward(
        "a query that deletes",
        lambda: database("CREATE TABLE t(a, b)", "INSERT INTO t VALUES (1, 2)"),
        "nothing that changes",
        {"query": "DELETE FROM t"},
    ),
    Awkward(
        "a truncated database",
        lambda: database("CREATE TABLE t(a, b)", "INSERT INTO t VALUES (1, 2)")[:4100],
        "damaged",
    ),
]
WORKBOOKS = [
    Awkward(*each, is_slow=True)
    for each in (
        ("a sheet", lambda: xlsx(A=sheet_xml(ROWS)), READ),
        ("an ODS sheet", lambda: ods(ROWS), READ),
        (
            "merged headers",
            lambda: xlsx(
                A=sheet_xml(
                    [
                        ["", "sales", None],
                        ["place", "2023", "2024"],
                        ["Bern", 1, 2],
                        ["Basel", 3, 4],
                    ],
                    ("B1:C1",),
                )
            ),
            {"sales 2023": [1, 3], "sales 2024": [2, 4]},
        ),
        (
            "titles above",
            lambda: xlsx(A=sheet_xml([["Report of 2020"], [], *ROWS])),
            READ,
        ),
        (
            "several sheets",
            lambda: xlsx(A=sheet_xml(ROWS), B=sheet_xml(ROWS)),
            "Choose one",
        ),
        (
            "dates of Excel",
            lambda: xlsx(
                A=sheet_xml(
                    [
                        ["day", "n"],
                        [datetime.date(2020, 1, 31), 1],
                        [datetime.date(2020, 2, 1), 2],
                    ]
                )
            ),
            {"day": DAYS},
        ),
        ("an empty sheet", lambda: xlsx(A=sheet_xml([])), "is empty"),
        (
            "a truncated workbook",
            lambda: xlsx(A=sheet_xml(ROWS))[:700],
            "damaged or cut off",
        ),
        ("a sheet of two far corners", corners, "memory"),
    )
]
AWKWARD = [*(*ENCODINGS, *DELIMITERS, *NUMBERS, *DATES, *NAMES, *OTHERS, *WORKBOOKS)]
