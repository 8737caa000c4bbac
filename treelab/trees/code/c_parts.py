"""Numbers, text and rows as C99 has them."""

from collections.abc import Mapping

from treelab.trees.code.names import comment
from treelab.trees.code.splits import Input

TYPES = {"number": "double ", "category": "const char *"}
HELPERS = {
    "same": """
static int same(const char *text, const char *other)
{
    return text != NULL && strcmp(text, other) == 0;
}
""",
    "unless": """
static double unless(double value, double low, double high)
{
    return low <= value && value <= high ? NAN : value;
}
""",
    "filled": """
static double filled(double value, double fill)
{
    return isnan(value) ? fill : value;
}
""",
}


def struct_lines(names: Mapping[Input, str]) -> list[str]:
    """Write the row, a member a column."""
    members = []
    for source, name in names.items():
        unit = f", {source.unit}" if source.unit else ""
        column = comment(f"{source.column}{unit}")
        members.append(f"    {TYPES[source.kind]}{name}; /* {column} */")
    members = members or ["    char unused; /* no column is read */"]
    return ["struct tree_row {", *members, "};"]


def member(source: Input, name: str) -> str:
    """Write how a row's column is read."""
    if source.missing_range is None:
        return f"row->{name}"
    low, high = map(number, source.missing_range)
    return f"unless(row->{name}, {low}, {high})"


def number(value: float) -> str:
    """Write a number as a double; C reads back the same float64."""
    if value != value:
        return "NAN"
    if value in (float("inf"), float("-inf")):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(value)


def c_text(value: str) -> str:
    """Write text as a C literal of UTF-8 bytes, all but plain letters escaped.

    Raises
    ------
    ValueError
        If it holds NUL, where C text ends, or half of a surrogate pair.
    """
    if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError(
            f"{value!r} holds a character that C text cannot hold (NUL, or half of a "
            "pair). Rename it in the table."
        )
    return '"' + "".join(map(_byte, value.encode())) + '"'


def _byte(byte: int) -> str:
    """Write one byte; three octal digits never run on into what follows."""
    character = chr(byte)
    plain = 32 <= byte < 127 and character not in '"\\?'  # "??/" would be a backslash
    return character if plain else f"\\{byte:03o}"
