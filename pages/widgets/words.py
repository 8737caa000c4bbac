"""How pages write numbers and names, say what failed, and ask before deleting."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps

import streamlit as st

from pages.cached.runs import LoadedRun
from pages.cached.store import find_run, read_once, shared_store
from treelab.data.split import SPLIT_NAMES
from treelab.runs.store.database import StoreError
from treelab.runs.users import NotAllowed
from treelab.trees.text import error_text, rule_text, target_text
from treelab.trees.tree import Tree
from treelab.trees.words import counted

LONGEST_RULE = 300  # letters that a sentence may hold


def split_words(loaded: LoadedRun, split: str) -> str:
    """Name a data split with its size, and what its rows are weighted by, if any."""
    return f"{counted_split(loaded, split)}{loaded.run.problem.weighted_words}"


def counted_split(loaded: LoadedRun, split: str) -> str:
    """Name a data split with its size: "test, 114 rows"; of what counts rows alike."""
    return f"{SPLIT_NAMES[split]}, {counted(loaded.n_rows(split), 'row')}"


def fitted_words(loaded: LoadedRun) -> str:
    """Name the rows that a run's model was fitted to: "341 training rows"."""
    split = loaded.fitted_split
    return counted(loaded.n_rows(split), f"{SPLIT_NAMES[split]} row")


def capital(text: str) -> str:
    """Begin a sentence with a capital, and leave names in it as they are."""
    return text[:1].upper() + text[1:]


def with_unit(loaded: LoadedRun, value: float) -> str:
    """Write a value of the target with its unit."""
    return target_text(loaded.model, value)


def error_with_unit(loaded: LoadedRun, value: float) -> str:
    """Write a distance between two values of the target with its unit."""
    return error_text(loaded.model, value)


def short_rule(tree: Tree, node: int) -> str:
    """Write a node's rule; where that is long, three terms of each weighted sum."""
    rule = rule_text(tree, node)
    return rule if len(rule) <= LONGEST_RULE else rule_text(tree, node, most=3)


def percents(**columns: str) -> dict:
    """Return how a table shows columns of fractions, by their names: their titles."""
    number = st.column_config.NumberColumn
    return {name: number(title, format="percent") for name, title in columns.items()}


def plain(text: object) -> str:
    """Return text that Streamlit's Markdown shows as it stands, on one line."""
    one_line = re.sub(r"\s*[\r\n\v\f\x85\u2028\u2029]\s*", " ", str(text))
    return re.sub(r"([\\`*_{}\[\]()#|~$:<>!+-])", r"\\\1", one_line)


def guarded(draw: Callable[..., None], key: str = "") -> Callable[..., None]:
    """Draw, or say what is wrong with the data folder; ``key`` names the button."""
    key = key or draw.__name__

    @wraps(draw)
    def attempt(*args, **kwargs) -> None:
        say_what_failed()
        try:
            draw(*args, **kwargs)
        except NotAllowed as error:
            _say(error)
        except LookupError:
            gone = st.session_state.get("run")
            if gone is None or find_run(gone):
                raise
            st.rerun()  # deleted while its page was open
        except OSError as error:
            _say(error)
            if st.button("Try again", icon=":material/refresh:", key=f"again-{key}"):
                st.cache_resource.clear()
                st.cache_data.clear()
                st.rerun(scope="app")

    return attempt


def explained(change: Callable[..., object], *given) -> Callable[[], None]:
    """Make a callback of what is given say what it could not do, on the next page.

    Streamlit shows a traceback where a callback fails.
    """

    def attempt() -> None:
        try:
            change(*given)
        except (OSError, ValueError) as error:  # not stored, or refused in a sentence
            st.session_state["what-failed"] = error

    return attempt


@contextmanager
def refusals() -> Iterator[None]:
    """Say in a sentence what is refused inside, and go on below."""
    try:
        yield
    except ValueError as error:
        st.error(plain(error), icon=":material/error:")


def say_what_failed() -> None:
    """Say, once, why the last click or choice could not be done."""
    if (error := st.session_state.pop("what-failed", None)) is not None:
        _say(error)


def say_lost_runs() -> None:
    """Say that the database has lost all runs, where it has."""
    if why := read_once("lost runs", shared_store().why_empty):
        st.warning(plain(why), icon=":material/warning:")


def _say(error: OSError | ValueError) -> None:
    """Show what is wrong in a sentence."""
    words, icon = str(error), "error"
    if isinstance(error, NotAllowed):
        icon = "lock"
    elif isinstance(error, OSError) and not isinstance(error, StoreError):
        if error.errno is None:  # not the system's: a mistake of ours
            raise error
        words = f"The data folder cannot be used: {error.strerror} ({error.filename})."
    st.error(plain(words), icon=f":material/{icon}:")


@st.dialog("Delete permanently?")
def confirm_delete(words: str, label: str, delete: Callable[[], object]) -> None:
    """Say in Markdown what goes, and delete it where the visitor is sure."""
    st.markdown(words)
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button("Cancel", key="cancel"):
            st.rerun()
        if st.button(
            label, type="primary", key="delete-sure", on_click=explained(delete)
        ):
            st.rerun()
