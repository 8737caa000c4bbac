"""Rows from a file that the visitor brings, sent through the tree and not stored."""

from pathlib import Path

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.routing import RoutedRows, routed_file
from pages.common.cached.trees import shown_tree
from pages.common.widgets.upload import KINDS, LABEL
from pages.common.words import plain
from treelab.data.reading.read_table import ReadResult, read_table
from treelab.data.reading.table_error import ChoiceError
from treelab.trees.feature import forms_of_model
from treelab.trees.words import listed


def pick_file(loaded: LoadedRun, estimator: int | None) -> RoutedRows | None:
    """Let the visitor choose a file; None until the tree can read one."""
    file = st.file_uploader(
        LABEL,
        type=KINDS,
        key="routing-file",
        help="It is read for this page and not stored.",
    )
    if file is None:
        columns = listed(shown_tree(loaded, estimator).columns)
        st.info(
            plain(
                f"The tree reads {columns}. With a column {loaded.model.target!r} the "
                "rows are shown by class, with a column of dates (2024-01-31) by month."
            ),
            icon=":material/info:",
        )
        return None
    try:
        sheet = None
        try:
            read = _read(*loaded.key, file.file_id, file.name, sheet, file, loaded)
        except ChoiceError as several:
            sheet = st.selectbox(
                "Sheet or table", several.choices, key=f"routing-sheet-{file.file_id}"
            )
            read = _read(*loaded.key, file.file_id, file.name, sheet, file, loaded)
        file_key = f"{file.file_id} {sheet or ''}"
        routed = routed_file(loaded, estimator, read, file_key, file.name)
    except ValueError as error:
        st.error(plain(error), icon=":material/error:")
        return None
    if read.notes:
        with st.expander(f"How {plain(file.name)} was read"):
            for note in read.notes:
                st.caption(plain(note))
    return routed


@st.cache_resource(show_spinner="Reading the file…", max_entries=2)
def _read(
    home: Path, run_id: str, epoch, file_id, name, sheet, _file, _loaded
) -> ReadResult:
    """Read an uploaded file as the run's model does, once."""
    forms = forms_of_model(_loaded.model)
    content = _file.getvalue()
    return read_table(content, name, as_in=forms, one_column=True, sheet=sheet)
