"""What a visitor sees when the data folder cannot be read or written."""

from collections.abc import Callable
from functools import wraps

import streamlit as st

from pages.cached.store import read_once, shared_store
from pages.widgets.words import plain
from treelab.runs.store.database import StoreError
from treelab.runs.users import NotAllowed


def guarded(draw: Callable[..., None], key: str = "") -> Callable[..., None]:
    """Draw, or say what is wrong with the data folder and how to go on.

    The key names the button for that; by default the function's name does.
    """
    key = key or draw.__name__

    @wraps(draw)
    def attempt(*args, **kwargs) -> None:
        say_what_failed()
        try:
            draw(*args, **kwargs)
        except NotAllowed as error:
            _say(error)
        except OSError as error:
            _say(error)
            if st.button("Try again", icon=":material/refresh:", key=f"again-{key}"):
                st.cache_resource.clear()
                st.cache_data.clear()
                st.rerun(scope="app")

    return attempt


def explained(change: Callable[..., object]) -> Callable[..., None]:
    """Make a callback say what could not be stored, where the page is drawn next.

    Streamlit shows a traceback where a callback fails.
    """

    @wraps(change)
    def attempt(*args, **kwargs) -> None:
        try:
            change(*args, **kwargs)
        except OSError as error:
            st.session_state["what-failed"] = error

    return attempt


def say_what_failed() -> None:
    """Say, once, why the last click or choice could not be stored."""
    if (error := st.session_state.pop("what-failed", None)) is not None:
        _say(error)


def say_lost_runs() -> None:
    """Say that the database has lost all runs, where it has."""
    if why := read_once("lost runs", shared_store().why_empty):
        st.warning(plain(why), icon=":material/warning:")


def _say(error: OSError) -> None:
    """Show what is wrong in a sentence."""
    words, icon = str(error), "error"
    if isinstance(error, NotAllowed):
        icon = "lock"
    elif not isinstance(error, StoreError):
        if error.errno is None:  # not the system's: a mistake of ours
            raise error
        words = f"The data folder cannot be used: {error.strerror} ({error.filename})."
    st.error(plain(words), icon=f":material/{icon}:")
