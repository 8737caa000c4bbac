"""Those who sign in, and which of them are admins."""

import time
from dataclasses import dataclass

from treelab.runs.store.database import reading, writing
from treelab.runs.store.run_store import RunStore

ADMIN = "admin"


@dataclass(frozen=True)
class Visitor:
    """One who has signed in.

    Attributes
    ----------
    user : str
        The email address in small letters, by which runs know their owner.
    is_admin : bool
        Whether all runs and tables may be seen and changed.
    is_private : bool
        Whether new runs are seen by this visitor and admins alone.
    """

    user: str
    is_admin: bool = False
    is_private: bool = True


def set_admin(store: RunStore, user: str, is_admin: bool) -> None:
    """Make somebody an admin, or no longer one."""
    user = user.strip().lower()
    if not user:
        raise ValueError("An admin has a name: the email address of the sign-in.")
    with writing(store.database) as db:
        db.execute('DELETE FROM roles WHERE "user" = ?', (user,))
        if is_admin:
            db.execute("INSERT INTO roles VALUES (?, ?)", (user, ADMIN))


def admins(store: RunStore) -> list[str]:
    """List the admins by name."""
    with reading(store.database) as db:
        rows = db.execute(
            'SELECT "user" FROM roles WHERE role = ? ORDER BY "user"', (ADMIN,)
        ).fetchall()
    return [row["user"] for row in rows]


def note_deed(store: RunStore, user: str, deed: str, subject: str, name: str) -> None:
    """Add a line to the audit log.

    Parameters
    ----------
    store : RunStore
    user : str
        Who did it.
    deed : str
        Such as "stop run".
    subject, name : str
        Id and title of the run or table.
    """
    with writing(store.database) as db:
        db.execute(
            'INSERT INTO audit (at, "user", deed, subject, name)'
            " VALUES (?, ?, ?, ?, ?)",
            (time.time(), user, deed, subject, name),
        )


def audit_log(store: RunStore) -> list[dict]:
    """Return the audit log, newest first: at, user, deed, subject, name."""
    with reading(store.database) as db:
        rows = db.execute(
            'SELECT at, "user", deed, subject, name FROM audit ORDER BY number DESC'
        ).fetchall()
    return [dict(row) for row in rows]
