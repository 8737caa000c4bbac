"""Who visits, where people sign in: the one place that knows ``st.user``.

Sign-in is configured by a section ``[auth]`` in ``.streamlit/secrets.toml``; without it
nobody is asked, and ``visitor`` is None. What a visitor may see and change is decided
by the store that pages get, ``treelab/runs/users.py``.
"""

import html
import time
from collections.abc import Mapping
from pathlib import Path

import streamlit as st

from treelab.runs.store.run_store import RunStore, default_home
from treelab.runs.users import Visitor, admins

PRIVATE = "new-runs-private"  # key of the visitor's choice
ROLE_SECONDS = 5  # after which a role that was given or taken is seen
_OPEN_UNTIL = "open-until"  # key of when to look for sign-in again


def asks_sign_in() -> bool:
    """Whether sign-in is configured: ``st.user`` knows it then."""
    # That there is none is found by looking for its file, for a while once a session:
    # pages ask dozens of times a second.
    if time.monotonic() < st.session_state.get(_OPEN_UNTIL, 0):
        return False
    if "is_logged_in" in st.user:
        return True
    st.session_state[_OPEN_UNTIL] = time.monotonic() + ROLE_SECONDS
    return False


def needs_sign_in() -> bool:
    """Whether this visitor has to sign in first."""
    return asks_sign_in() and not _user()


def visitor() -> Visitor | None:
    """Return who has signed in, None where nobody is asked; others see no page."""
    if not asks_sign_in():
        return None
    user = _user()
    if not user:
        st.stop()
    is_admin = user in _admins(default_home())
    return Visitor(user, is_admin, st.session_state.get(PRIVATE, True))


def require_sign_in() -> None:
    """Ask those who have not signed in to do so, and show nothing else."""
    if not needs_sign_in():
        return
    st.title("Sign in to treelab", anchor=False)
    if st.user.is_logged_in:
        st.error(
            "Your sign-in names no email address that its provider has verified.",
            icon=":material/error:",
        )
        st.button("Sign out", key="sign-out", on_click=st.logout)
        st.stop()
    st.caption("What you train is yours: others see it once you share it.")
    auth = st.secrets["auth"]
    sections = {name: own for name, own in auth.items() if isinstance(own, Mapping)}
    providers = [name for name, own in sections.items() if "client_id" in own]
    for name in providers or [None]:
        st.button(
            f"Sign in with {name.capitalize()}" if name else "Sign in",
            type="primary",
            icon=":material/login:",
            key=f"sign-in-{name or 'default'}",
            on_click=st.login,
            args=(name,) if name else (),
        )
    st.stop()


def show_account() -> None:
    """Show who is signed in, who sees new runs, and the way out."""
    who = visitor()
    if who is None:
        return
    role = " · admin" if who.is_admin else ""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        # As HTML: Markdown would make a link of an address.
        words = html.escape(f"{who.user}{role}")
        st.html(f'<small class="quiet">{words}</small>', width="stretch")
        st.button(
            "",
            icon=":material/logout:",
            type="tertiary",
            key="sign-out",
            help="Sign out",
            on_click=st.logout,
        )
    st.toggle(
        "New runs are private",
        True,
        key=PRIVATE,
        persist_state="session",
        help="Only you and admins see them; Runs has a button to share one.",
    )


def _user() -> str:
    """Return the visitor's email address, "" where none is verified."""
    email = str(st.user.get("email") or "").strip().lower()
    is_verified = str(st.user.get("email_verified", True)).lower() != "false"
    return email if st.user.is_logged_in and is_verified else ""


@st.cache_data(show_spinner=False, max_entries=4, ttl=ROLE_SECONDS)
def _admins(home: Path) -> list[str]:
    """The admins of a data folder."""
    return admins(RunStore(home))
