"""What a visitor sees when the data folder cannot be read or written."""

from collections.abc import Callable
from functools import wraps

import streamlit as st

from pages.common.words import plain
from treelab.runs.store.database import StoreError
from treelab.runs.users.visitor_store import NotAllowed


def guarded(draw: Callable[[], None], key: str = "") -> Callable[[], None]:
    """Draw, or say what is wrong with the data folder and how to go on.

    The key names the button for that; by default the function's name does.
    """
    key = key or draw.__name__

    @wraps(draw)
    def attempt() -> None:
        try:
            draw()
        except NotAllowed as error:
            st.error(plain(str(error)), icon=":material/lock:")
        except StoreError as error:
            _say(error, key)
        except OSError as error:
            if error.errno is None:  # not the system's: a mistake of ours
                raise
            _say(error, key)

    return attempt


def _say(error: OSError, key: str) -> None:
    """Show the sentence, and a button that begins anew with what is there then."""
    words = str(error)
    if not isinstance(error, StoreError):
        words = f"The data folder cannot be used: {error.strerror} ({error.filename})."
    st.error(plain(words), icon=":material/error:")
    if st.button("Try again", icon=":material/refresh:", key=f"again-{key}"):
        st.cache_resource.clear()
        st.cache_data.clear()
        st.rerun(scope="app")
