"""A visitor's own table: read it, store it, report what was done to it."""

import streamlit as st

from pages.common.cached.store import store
from pages.common.state.problem import choose_table
from pages.common.words import plain
from treelab.data.builtin import BUILTIN
from treelab.data.reading.read_table import read_table
from treelab.data.reading.table_error import TableError

UPLOAD_OPEN = "upload-open"  # key of the popover around the box
KINDS = ["csv", "tsv", "txt", "gz", "parquet"]


def upload_box() -> None:
    """Offer a place for a file; what comes is read before the page is drawn."""
    st.file_uploader(
        "A table as CSV, TSV or Parquet; may be gzipped",
        type=KINDS,
        key="upload",
        on_change=_store_upload,
        help="It stays on the machine that runs treelab.",
    )


def upload_report() -> None:
    """Report on the last file: why it was refused, or what was changed."""
    if error := st.session_state.get("upload-error"):
        st.error(plain(error), icon=":material/error:")
    for note in st.session_state.get("upload-notes", []):
        st.caption(f":material/info: {plain(note)}")


def clear_report() -> None:
    """Clear the report of the last file, once another table was chosen."""
    st.session_state.pop("upload-error", None)
    st.session_state.pop("upload-notes", None)


def _store_upload() -> None:
    """Read the uploaded file; one that cannot be read changes nothing."""
    clear_report()
    file = st.session_state["upload"]
    if file is None:  # removed again
        return
    try:
        found = read_table(file.getvalue(), file.name)
        name = _free_name(file.name)
        key = store().add_table(found.frame, name)
        choose_table(key)
    except TableError as error:  # names the file itself
        st.session_state["upload-error"] = str(error)
        return
    except ValueError as error:
        st.session_state["upload-error"] = f"{file.name}: {error}"
        return
    st.session_state["upload-notes"] = found.notes
    st.session_state["table"] = key
    st.session_state[UPLOAD_OPEN] = False  # the table is what comes next


def _free_name(name: str) -> str:
    """Return a file's name, distinct from the built-in tables' titles."""
    titles = {built.title for built in BUILTIN.values()}
    return f"{name} (uploaded)" if name in titles else name
