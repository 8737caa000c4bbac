"""Read ARFF, the format of Weka and OpenML: attributes, then rows of text."""

import re
from collections.abc import Iterator

from treelab.data.reading.delimited import Cells, lines
from treelab.data.reading.formats.text_columns import TextColumns
from treelab.data.reading.table_error import TableError
from treelab.trees.words import counted

ATTRIBUTE = re.compile(
    r"""(?i)\s*@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s{]+)\s*(.*)"""
)


def read_arff(text: bytes, name: str) -> Cells:
    """Read the rows of an ARFF text (UTF-8).

    Raises TableError if it has no attributes or rows, sparse rows, or a row that does
    not fit.
    """
    numbered = enumerate(lines(text), start=1)
    attributes = list(_attributes(numbered))
    names = [each for each, _ in attributes]
    if not names:
        raise TableError(f"{name} is an ARFF file without an @attribute.")
    if len(set(names)) < len(names):
        twice = next(each for each in names if names.count(each) > 1)
        raise TableError(f"{name} has two attributes {twice!r}. Rename one.")
    columns = TextColumns(name, names)
    n_rows = 0
    for number, line in numbered:
        if not line.strip() or line.lstrip().startswith("%"):
            continue
        if line.lstrip().startswith("{"):
            raise TableError(
                f"{name}: line {number:,} is a sparse row, which is not read. Save the "
                "table with all its cells (in Weka, by the filter SparseToNonSparse)."
            )
        cells = _cells(line)
        if len(cells) != len(names):
            raise TableError(
                f"{name}: line {number:,} has {counted(len(cells), 'field')} where "
                f"{len(names):,} were expected, one for each @attribute."
            )
        columns.add(dict(zip(names, cells)))
        n_rows += 1
    if not n_rows:
        raise TableError(f"{name} has no rows below @data. Add rows.")
    nominal = (n for n, kind in attributes if kind.lower().startswith(("{", "string")))
    return columns.cells("row", set(nominal), missing=("?",))


def _attributes(numbered: Iterator[tuple[int, str]]) -> Iterator[tuple[str, str]]:
    """Yield each attribute's name and type, and stop below ``@data``."""
    for _, line in numbered:
        if line.strip().lower().startswith("@data"):
            return
        if found := ATTRIBUTE.match(line):
            name = found.group(1)
            if name[0] in "'\"":
                name = re.sub(r"\\(.)", r"\1", name[1:-1])
            yield name, found.group(2).strip()


# A field, in quotation marks of one kind or the other, or in none.
_QUOTED = r"""'((?:[^'\\]|\\.|'')*)'|"((?:[^"\\]|\\.|"")*)\""""
_FIELDS = {
    sign: re.compile(rf" *(?:(?:{_QUOTED}) *|([^{sign}]*))({sign}|$)")
    for sign in (",", "\t")
}
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}


def _cells(line: str) -> list[str]:
    """Return the fields of a row, with quotation marks around some of them."""
    line = line.strip()
    sign = "\t" if "\t" in line and "," not in line else ","
    cells, place, end = [], 0, sign
    while end:
        found = _FIELDS[sign].match(line, place)
        assert found is not None, "a field may be empty"
        single, double, plain, end = found.groups()
        if single is not None:
            text = single.replace("''", "'")
        elif double is not None:
            text = double.replace('""', '"')
        else:
            text = plain.strip()
        cells.append(re.sub(r"\\(.)", _escaped, text))
        place = found.end()
    return cells


def _escaped(found: re.Match) -> str:
    """Return the sign that stands behind a backslash."""
    return _ESCAPED.get(found[1], found[1])
