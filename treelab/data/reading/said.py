"""What a person may say of a file that was read otherwise than it was meant."""

from collections.abc import Mapping

# What a person may say of a text file, where it was found out wrong.
TEXT_OPTIONS: dict[str, tuple[str, dict[str, str]]] = {
    "delimiter": (
        "Delimiter",
        {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"},
    ),
    "decimal": ("Decimal separator", {".": "point", ",": "comma"}),
    "encoding": (
        "Encoding",
        {
            "utf-8": "UTF-8",
            "cp1252": "Western European (Windows-1252)",
            "cp1250": "Central European (Windows-1250)",
            "cp1251": "Cyrillic (Windows-1251)",
            "iso8859-15": "Western European (ISO 8859-15)",
            "utf-16": "UTF-16",
            "shift_jis": "Japanese (Shift JIS)",
            "gb18030": "Chinese (GB 18030)",
        },
    ),
}


def said_of_cells(columns: list[str], edited: Mapping[int, Mapping]) -> dict:
    """Return what was edited, by row of the editor, as ``read_table`` takes it."""
    said: dict = {"missing": {}, "keep_na": [], "as_text": []}
    for place, values in edited.items():
        column = columns[int(place)]
        cells = [cell.strip() for cell in (values.get("missing") or "").split(",")]
        if cells := [cell for cell in cells if cell]:
            said["missing"][column] = cells
        for option in ("keep_na", "as_text"):
            if values.get(option):
                said[option].append(column)
    return said
