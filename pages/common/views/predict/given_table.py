"""Which table is predicted: a file, a pasted one, or one of the run store."""

from hashlib import sha256

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.new_rows import GivenTable, read_given
from pages.common.cached.store import table
from pages.common.cached.tables import stored_table_id
from pages.common.state.problem import table_titles
from pages.common.widgets.upload import KINDS, LABEL
from pages.common.words import plain
from treelab.data.reading.table_error import ChoiceError
from treelab.trees.words import counted, listed

FILE, PASTED, STORED = "A file", "Pasted cells", "A stored table"


def pick_given_table(loaded: LoadedRun) -> GivenTable | None:
    """Let the visitor choose a table; None until there is one."""
    source = st.segmented_control(
        "Rows from",
        [FILE, PASTED, STORED],
        default=FILE,
        required=True,
        key="predict-source",
        persist_state="session",
    )
    if source == STORED:
        return _stored()
    given = _file() if source == FILE else _pasted()
    if given is None:
        return None
    try:
        found = _read(loaded, *given)
    except ValueError as error:
        st.error(plain(error), icon=":material/error:")
        return None
    if found.notes:
        with st.expander(f"How {plain(found.name)} was read"):
            for note in found.notes:
                st.caption(plain(note))
    return found


def say_what_is_read(loaded: LoadedRun) -> None:
    """Say which columns the model reads, and that the target is welcome."""
    columns = list(loaded.model.columns)
    reads = f"reads {counted(len(columns), 'column')}: {listed(columns, most=12)}"
    st.info(
        plain(
            f"The model {reads if columns else 'reads no column'}. They may stand in "
            f"any order, among others. With a column {loaded.model.target!r} the "
            "predictions are scored. The table is not stored."
        ),
        icon=":material/info:",
    )


def _stored() -> GivenTable:
    """Let the visitor choose a table of the run store."""
    titles = table_titles()
    key = st.selectbox(
        "Table",
        list(titles),
        format_func=titles.__getitem__,
        key="predict-stored",
        width=360,
    )
    table_id = stored_table_id(key)
    frame = table(table_id)
    return GivenTable(frame, frame, titles[key], table_id)


def _file() -> tuple[bytes, str, str] | None:
    """Let the visitor upload a file; its content, its name, its key."""
    file = st.file_uploader(LABEL, type=KINDS, key="predict-file")
    return None if file is None else (file.getvalue(), file.name, file.file_id)


def _pasted() -> tuple[bytes, str, str] | None:
    """Let the visitor paste cells; their content, a name, a key."""
    text = st.text_area(
        "Cells copied from a spreadsheet, or lines of CSV, with their header",
        key="predict-pasted",
        height=140,
    )
    if not text.strip():
        return None
    content = text.encode("utf-8", errors="replace")
    return content, "Pasted table", sha256(content).hexdigest()


def _read(loaded: LoadedRun, content: bytes, name: str, key: str) -> GivenTable:
    """Read what was brought; of several sheets the visitor chooses one."""
    sheet = None
    try:
        found = read_given(loaded, key, name, sheet, content)
    except ChoiceError as several:
        sheet = st.selectbox(
            "Sheet or table", several.choices, key=f"predict-sheet-{key}", width=360
        )
        found = read_given(loaded, key, name, sheet, content)
    title = f"{name}, {sheet}" if sheet else name
    return GivenTable(
        found.frame, found.cells, title, f"{key} {sheet or ''}", tuple(found.notes)
    )
