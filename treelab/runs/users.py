"""Who may see and change which run, once people sign in to the app."""

import inspect
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import pandas as pd

from treelab.runs.store.database import change, fetch, writing
from treelab.runs.store.files import folder_size, limit_of, megabytes, table_size
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.runs.store.tables import TableInfo

VARIABLE = "TREELAB_MOST_GB_PER_USER"


def held_bytes(store: RunStore, user: str) -> int:
    """Return the bytes of a user's runs and of the tables that this user added."""
    runs = fetch(store.database, 'SELECT id FROM runs WHERE "user" = ?', (user,))
    of_user = 'SELECT table_id FROM table_users WHERE "user" = ?'
    tables = fetch(store.database, of_user, (user,))
    n_bytes = sum(table_size(store.home, row["table_id"]) for row in tables)
    return n_bytes + sum(folder_size(store.folder(row["id"])) for row in runs)


def quota_words(store: RunStore, user: str) -> str:
    """Say how much of what is allowed a user takes; "" without a limit."""
    most = limit_of(VARIABLE)
    if most is None:
        return ""
    held = megabytes(held_bytes(store, user))
    return f"Your runs and tables take {held} of {megabytes(most * 1e9)}."


def has_room(store: RunStore, user: str) -> bool:
    """Whether a user takes less than is allowed."""
    most = limit_of(VARIABLE)
    return most is None or held_bytes(store, user) < most * 1e9


ADMIN = "admin"


@dataclass(frozen=True)
class Visitor:
    """One who has signed in."""

    user: str  # the email address in small letters, by which runs know their owner
    is_admin: bool = False  # whether all runs and tables may be seen and changed
    # Whether new runs are seen by this visitor and admins alone.
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
    query = 'SELECT "user" FROM roles WHERE role = ? ORDER BY "user"'
    return [row["user"] for row in fetch(store.database, query, (ADMIN,))]


def log_action(store: RunStore, user: str, deed: str, subject: str, name: str) -> None:
    """Add to the audit log who did what, such as "stop run", to which run or table."""
    change(
        store.database,
        'INSERT INTO audit (at, "user", deed, subject, name) VALUES (?, ?, ?, ?, ?)',
        (time.time(), user, deed, subject, name),
    )


def audit_log(store: RunStore) -> list[dict]:
    """Return the audit log, newest first: at, user, deed, subject, name."""
    query = 'SELECT at, "user", deed, subject, name FROM audit ORDER BY number DESC'
    return fetch(store.database, query)


READ_ONLY = frozenset(
    {
        *("run", "runs", "events", "preparation", "queued", "in_stage", "has_waiting"),
        *("log", "snapshot", "snapshots", "model", "path", "plan", "rashomon"),
        *("has_plan", "folder", "exists", "why_empty"),
        # By way of a table's name, which not everybody finds.
        *("table", "table_file", "table_notes"),
    }
)


class NotAllowed(PermissionError):
    """A visitor asked for what only the owner or an admin may do."""


class VisitorStore(RunStore):
    """A run store in which a visitor sees and changes only what is allowed.

    A private run is not there for others: no query finds its row. Everybody may look at
    the other runs, and only its owner and admins stop, pause, resume, rename or delete
    a run. So the methods of ``RunStore`` in ``READ_ONLY`` read what is found; each
    other one, unless it is written below, is for those alone who may change the run
    that it is called with.

    A table is seen by those who added it and by all who see a run on it; one without an
    owner, by all. Nothing is added beyond the quota (see ``treelab.runs.users``), but
    by an admin.
    """

    def __init__(self, home: str | os.PathLike, visitor: Visitor):
        super().__init__(home)
        self.visitor = visitor
        self.user = visitor.user
        self.makes_private = visitor.is_private

    def may_change(self, run: Run) -> bool:
        """Whether the visitor owns a run, or is an admin."""
        return self.visitor.is_admin or run.user == self.visitor.user

    # What is there

    def _seen(self) -> tuple[str, tuple]:
        """Return the condition under which a run is there for the visitor."""
        where, values = super()._seen()
        if self.visitor.is_admin:
            return where, values
        return f'{where} AND (is_private = 0 OR "user" = ?)', (*values, self.user)

    def tables(self) -> list[TableInfo]:
        """List the tables that the visitor may see, newest first."""
        owners = self._owners()
        seen = self._tables_of_runs()
        return [
            info
            for info in super().tables()
            if info.id in seen or self._may_see_table(owners.get(info.id, set()))
        ]

    def _table_name(self, table_id: str) -> str:
        """Return a table's name; LookupError if it is none that the visitor may see.

        All that reads a table, or makes a run on it, asks for its name first.
        """
        owners = self._owners().get(table_id, set())
        if not self._may_see_table(owners) and table_id not in self._tables_of_runs():
            raise LookupError(f"There is no table {table_id!r} in the run store.")
        return super()._table_name(table_id)

    def _may_see_table(self, owners: set[str]) -> bool:
        """Whether a table may be seen, whatever runs there are on it."""
        return self.visitor.is_admin or not owners or self.user in owners

    def _tables_of_runs(self) -> set[str]:
        """Return the ids of the tables on which there is a run to see."""
        return set().union(*(run.table_ids for run in self.runs()))

    def _owners(self) -> dict[str, set[str]]:
        """Return who added each table, by its id."""
        owners: dict[str, set[str]] = {}
        for row in fetch(self.database, 'SELECT table_id, "user" FROM table_users'):
            owners.setdefault(row["table_id"], set()).add(row["user"])
        return owners

    # What is new

    def add_table(self, frame: pd.DataFrame, name: str, user: str = "") -> str:
        """Store a table, as the visitor's."""
        self._check_room()
        return super().add_table(frame, name, user or self.user)

    def create(self, *arguments: Any, **named: Any) -> str:
        """Create a run, as the visitor's."""
        self._check_room()
        return super().create(*arguments, **named)

    def set_private(self, run_id: str, is_private: bool) -> None:
        """Show a run to all, or to its owner and admins alone."""
        self._check(run_id)
        self._set(run_id, "is_private", is_private)

    # What changes

    def request_stop(self, run_id: str) -> None:
        """Ask a run to stop, and note who asked."""
        self._note("stop run", self._check(run_id))
        super().request_stop(run_id)

    def delete(self, run_id: str) -> None:
        """Delete a run, and note who did."""
        self._note("delete run", self._check(run_id))
        super().delete(run_id)

    def delete_table(self, table_id: str) -> None:
        """Delete a table, and note who did; one that others added stays theirs."""
        owners = self._owners().get(table_id, set())
        if not self.may_delete_table(table_id):
            raise NotAllowed("Only who added this table, or an admin, deletes it.")
        if not self.visitor.is_admin and owners - {self.user}:
            change(
                self.database,
                'DELETE FROM table_users WHERE table_id = ? AND "user" = ?',
                (table_id, self.user),
            )
            return
        try:
            RunStore(self.home).delete_table(table_id)  # it knows the runs of all
        except ValueError as error:
            raise ValueError("A run needs this table; delete the run first.") from error
        log_action(self, self.user, "delete table", table_id, "")

    def may_delete_table(self, table_id: str) -> bool:
        """Whether the visitor added a table, or is an admin."""
        return self.visitor.is_admin or self.user in self._owners().get(table_id, set())

    def _check(self, run_id: str) -> Run:
        """Return a run that the visitor may change, else raise NotAllowed."""
        run = self.run(run_id)
        if not self.may_change(run):
            who = f"{run.user} or an admin" if run.user else "an admin"
            raise NotAllowed(f"Only {who} may change {run.title!r}.")
        return run

    def _check_room(self) -> None:
        """Raise NotAllowed where the visitor's quota is used up."""
        if self.visitor.is_admin:
            return
        try:
            if has_room(self, self.user):
                return
            words = quota_words(self, self.user)
        except ValueError as error:  # the limit is no number
            raise NotAllowed(f"Nothing can be stored: {error}") from None
        raise NotAllowed(f"{words} Delete what is no longer needed on Runs and Data.")

    def _note(self, deed: str, run: Run) -> None:
        """Add a line to the audit log."""
        log_action(self, self.user, deed, run.id, run.title)


def _guarded(method: Callable) -> Callable:
    """Return a method of ``RunStore`` for those who may change the run it is about."""
    is_of_run = "run_id" in inspect.signature(method).parameters

    @wraps(method)
    def guarded(store: VisitorStore, *arguments, **named):
        if not is_of_run:
            raise NotAllowed(f"{method.__name__} is for workers and the command line.")
        store._check(named["run_id"] if "run_id" in named else arguments[0])
        return method(store, *arguments, **named)

    return guarded


for _name, _method in inspect.getmembers(RunStore, inspect.isfunction):
    if not (_name.startswith("_") or _name in READ_ONLY | vars(VisitorStore).keys()):
        setattr(VisitorStore, _name, _guarded(_method))
