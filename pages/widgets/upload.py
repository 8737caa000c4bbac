"""A visitor's own table: read it, store it, report what was done to it."""

from collections.abc import Callable, Mapping, Sequence

import pandas as pd
import streamlit as st

from pages.cached.store import store
from pages.state.choices import choose_table, current_problem
from pages.widgets.words import explained, plain
from treelab.data.builtin import BUILTIN
from treelab.data.openml import CATALOGUE, read_openml
from treelab.data.reading.file_format import DATABASES, KINDS, format_of
from treelab.data.reading.read_table import ReadResult, TextForm, read_table
from treelab.data.reading.table_error import ChoiceError
from treelab.runs.store.run_store import default_home

UPLOAD_OPEN = "upload-open"  # key of the popover around the box
_REPORT = "upload-report"  # of the table shown: its id, why none was read, notes
LABEL = "A table: CSV, Excel, Parquet, SPSS, SQLite, DuckDB and others"
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


def upload_box() -> None:
    """Offer a place for a file or a text; what comes is read before the page is."""
    file = st.file_uploader(
        LABEL,
        type=KINDS,
        key="upload",
        on_change=explained(_store_upload),
        help="It stays on the machine that runs treelab.",
    )

    if file is not None:
        _choice_box(format_of(file.getvalue()))
    st.text_area(
        "Or paste a table",
        key="upload-pasted",
        height=110,
        placeholder="Cells copied from a spreadsheet, or lines of CSV",
    )
    st.button(
        "Read the pasted table", key="read-pasted", on_click=explained(_store_pasted)
    )
    # Nothing is fetched before the button is pressed.
    st.selectbox(
        "Or from OpenML, by name or number",
        list(CATALOGUE),
        index=None,
        placeholder="adult, 1590, ...",
        accept_new_options=True,
        key="openml-name",
        help="Listed are tables of the GRANDE paper; any other name or number of "
        "openml.org can be typed. The table is fetched once and then cached.",
    )
    st.button(
        "Fetch from openml.org",
        key="read-openml",
        on_click=explained(_store_openml),
        disabled=not st.session_state["openml-name"],
    )


def _choice_box(kind: str) -> None:
    """Let the visitor choose what is read of a file: a sheet, a header, a query."""
    choices = st.session_state.get("upload-choices")
    form: TextForm | None = st.session_state.get("upload-form")
    part_box("upload", kind, choices, None if form is None else form.has_header)
    if kind in ("text", "zip") and not choices:
        _text_box(form)
    _cells_box()
    st.button(
        "Read" if choices or kind in DATABASES else "Read again",
        key="read-chosen",
        type="primary" if choices else "secondary",
        on_click=explained(_store_chosen),
    )


def part_box(
    key: str, kind: str, choices: Sequence[str] | None, has_header: bool | None = None
) -> None:
    """Let the visitor choose the part of a file that is its table.

    The ``kind`` is that of the file's content. ``choices`` are its sheets or tables,
    where one has to be chosen; ``has_header`` is whether a row was taken for the names
    of columns, None where it is not known. See ``chosen_part``.
    """
    is_database = kind in DATABASES
    if choices:
        what = "Table" if is_database else "Sheet"
        st.selectbox(
            f"{what} ({len(choices):,} in the file)", choices, key=f"{key}-sheet"
        )
    if is_database:
        st.text_area(
            "Or a query",
            key=f"{key}-query",
            height=70,
            placeholder="SELECT ... FROM ...",
            help="One SELECT; the database is only read, for 20 seconds at most.",
        )
    elif kind in ("text", "workbook", "zip"):
        words = {None: "automatic", True: "detected: a row", False: "detected: none"}
        st.number_input(
            "Header row (0 for none)",
            min_value=0,
            value=None,
            placeholder=words[has_header],
            key=f"{key}-header",
        )


def chosen_part(key: str, choices: Sequence[str] | None) -> dict:
    """Return what was chosen in a ``part_box``, as ``read_table`` takes it."""
    state = st.session_state
    return {
        "sheet": state.get(f"{key}-sheet") if choices else None,
        "query": (state.get(f"{key}-query") or "").strip() or None,
        "header": state.get(f"{key}-header"),
    }


def part_title(name: str, part: Mapping) -> str:
    """Name a file and the sheet or table that is read of it."""
    is_sheet = part["sheet"] and not part["query"]
    return f"{name}, {part['sheet']}" if is_sheet else name


def _text_box(form: TextForm | None) -> None:
    """Show how a text was read; let the visitor say otherwise."""
    for column, (key, (label, options)) in zip(st.columns(3), TEXT_OPTIONS.items()):
        found = "" if form is None else getattr(form, key)
        column.selectbox(
            label,
            list(options),
            index=None,
            placeholder=f"detected: {options.get(found, found)}"
            if found
            else "automatic",
            format_func=options.__getitem__,
            key=f"upload-{key}",
        )


def _cells_box() -> None:
    """Let the visitor say of each column which cells have no value, or are text."""
    columns = st.session_state.get("upload-columns")
    if not columns:
        return
    with st.expander("Missing values, columns read as text"):
        st.data_editor(
            pd.DataFrame(
                {"column": columns, "missing": "", "keep_na": False, "as_text": False}
            ),
            key=_cells_key(),
            hide_index=True,
            disabled=["column"],
            height=220,
            column_config={
                "column": "Column",
                "missing": st.column_config.TextColumn(
                    "Also missing", help="Cells with commas between: -999, refused"
                ),
                "keep_na": st.column_config.CheckboxColumn(
                    "NA is a value", help="NA, null and ? are not missing values"
                ),
                "as_text": st.column_config.CheckboxColumn(
                    "As text", help="Categories as written: 7.10 is not 7.1"
                ),
            },
        )


def _cells_key() -> str:
    """Return the key of the editor, which names rows: of a file, and its columns."""
    columns = tuple(st.session_state.get("upload-columns", ()))
    return f"upload-cells-{st.session_state.get('upload-read')}-{hash(columns)}"


def reading_notes() -> list[str]:
    """Return what was found as its file was read; show why the last was refused.

    Once another table was chosen there is nothing to report of that.
    """
    table_id = current_problem().table_id
    about, error, notes = st.session_state.get(_REPORT, ("", None, []))
    if about != table_id:
        st.session_state.pop(_REPORT, None)
        error, notes = None, []
    if error:
        st.error(plain(error), icon=":material/error:")
    return [*store().table_notes(table_id), *notes]


def _store_upload() -> None:
    """Read the uploaded file, once; one that cannot be read changes nothing."""
    file = st.session_state["upload"]
    # An interrupted page's box is reported as changed once more, when another table
    # may have been chosen.
    read_id = None if file is None else file.file_id
    if read_id == st.session_state.get("upload-read"):
        return
    st.session_state["upload-read"] = read_id
    own = ("choices", "form", "header", "query", "columns", *TEXT_OPTIONS)
    for key in (_REPORT, *(f"upload-{name}" for name in own)):
        st.session_state.pop(key, None)
    if file is not None:  # else it was removed again
        _store_file(file, chosen_part("upload", None))


def _store_chosen() -> None:
    """Read the sheet, the table or the query that was chosen."""
    state = st.session_state
    _store_file(
        state["upload"],
        chosen_part("upload", state.get("upload-choices")),
        **{name: state.get(f"upload-{name}") for name in TEXT_OPTIONS},
        **said_of_cells(
            state.get("upload-columns", []),
            state.get(_cells_key(), {}).get("edited_rows", {}),
        ),
    )


def _store_file(file, part: Mapping, **how) -> None:
    """Read a part of a file as ``how`` says, and store it; remember how it was read."""
    title, how = part_title(file.name, part), {**part, **how}
    found = _store(lambda: (read_table(file.getvalue(), file.name, **how), title))
    if found is not None:
        st.session_state["upload-form"] = found.text
        st.session_state["upload-columns"] = [str(name) for name in found.frame]


def _store_pasted() -> None:
    """Read the pasted text, and store it."""
    content = st.session_state["upload-pasted"].encode("utf-8", errors="replace")
    title = "Pasted table"
    if _store(lambda: (read_table(content, title), title)):
        st.session_state["upload-pasted"] = ""


def _store_openml() -> None:
    """Fetch the table that was named, and store it."""
    name = str(st.session_state["openml-name"])
    _store(lambda: read_openml(name, default_home() / "openml"))


def _store(read: Callable[[], tuple[ReadResult, str]]) -> ReadResult | None:
    """Store a table that is read now, and turn to it; None where it is refused."""
    title, found, error = "", None, None
    st.session_state.pop(_REPORT, None)
    try:
        found, title = read()
        if title in {built.title for built in BUILTIN.values()}:
            title = f"{title} (uploaded)"
        choose_table(store().add_table(found.frame, title))
        st.session_state[UPLOAD_OPEN] = False  # the table is what comes next
    except ChoiceError as several:
        found, st.session_state["upload-choices"] = None, several.choices
    except ValueError as why:  # which names the file, but once it was read
        found, error = None, f"{title}: {why}" if title else str(why)
    report([], error)
    return found


def report(notes: Sequence[str], error: str | None = None) -> None:
    """Keep what is to be said beside the table that is shown, in this visit."""
    st.session_state[_REPORT] = current_problem().table_id, error, notes


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
