"""Exported code, run as a user runs it: Python by exec, SQL in SQLite, C by gcc."""

import math
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from treelab.trees.code import to_c, to_python, to_sql
from treelab.trees.code.writer import inputs

GCC = shutil.which("gcc")
needs_gcc = pytest.mark.skipif(GCC is None, reason="gcc is not installed")


def python_predictions(tree, table: pd.DataFrame) -> list:
    """What the Python function predicts for each row."""
    names = {}
    exec(compile(to_python(tree), "tree.py", "exec"), names)
    return [names["predict"](row) for row in table.to_dict("records")]


def cell(value, kind: str = "category"):
    """A value as SQLite keeps it: a missing one is NULL."""
    if value is None or value is pd.NA or value != value:
        return None
    return float(value) if kind == "number" else str(value)


def sql_predictions(tree, table: pd.DataFrame) -> list:
    """What the CASE expression predicts for each row, a tuple of several outputs."""
    kinds = {source.column: source.kind for source in inputs(tree)}
    quoted = ['"' + column.replace('"', '""') + '"' for column in table.columns]
    database = sqlite3.connect(":memory:")
    database.execute(f"CREATE TABLE rows ({', '.join(quoted)})")
    rows = [
        [cell(v, kinds.get(c, "category")) for c, v in row.items()]
        for row in table.to_dict("records")
    ]
    database.executemany(
        f"INSERT INTO rows VALUES ({', '.join('?' * len(quoted))})", rows
    )
    found = database.execute(f"SELECT {to_sql(tree)} FROM rows ORDER BY rowid")
    return [row if tree.outputs else row[0] for row in found]


def c_predictions(tree, table: pd.DataFrame, folder: Path) -> list:
    """What the C function predicts for each row: a label as text, or a number."""
    read = inputs(tree)
    members = []
    for source in read:
        cells = [cell(v, source.kind) for v in table[source.column]]
        if source.kind == "number":
            members.append(["NAN" if v is None else _double(v) for v in cells])
        else:
            members.append(["NULL" if v is None else _bytes(v) for v in cells])
    rows = ["{" + (", ".join(row) or "0") + "}" for row in zip(*members)]
    rows = rows or ["{0}"] * len(table)
    show = (
        'printf("%.17g\\n", tree_predict(&rows[i]));'
        if tree.classes is None
        else 'printf("%d\\n", tree_class(&rows[i]));'
    )
    (folder / "tree.c").write_text(to_c(tree), "utf-8")
    (folder / "main.c").write_text(
        '#include <stdio.h>\n#include "tree.c"\n'
        f"static const struct tree_row rows[] = {{{', '.join(rows)}}};\n"
        "int main(void) {\n"
        f"    for (int i = 0; i < {len(rows)}; i++) {{ {show} }}\n"
        "    return 0;\n}\n"
    )
    command = [GCC, "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(
        [*command, "-o", "tree", "main.c", "-lm"], cwd=folder, check=True, timeout=120
    )
    printed = subprocess.run(
        [folder / "tree"], capture_output=True, check=True, text=True
    ).stdout.split()
    if tree.classes is None:
        return [float(value) for value in printed]
    return [None if int(k) < 0 else tree.classes[int(k)] for k in printed]


def _double(value: float) -> str:
    """A number for C."""
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(value)


def _bytes(value: str) -> str:
    """Text for C, every byte in octal."""
    return '"' + "".join(f"\\{byte:03o}" for byte in value.encode()) + '"'


def check_all(tree, table: pd.DataFrame, folder: Path | None = None) -> None:
    """Assert that the code predicts as the tree does, to the last bit, on every row."""
    wanted = tree.predict(table).tolist()
    assert python_predictions(tree, table) == wanted
    assert sql_predictions(tree, table) == wanted
    if folder is not None and GCC is not None:
        assert c_predictions(tree, table, folder) == wanted
