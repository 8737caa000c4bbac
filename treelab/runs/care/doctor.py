"""An examination of a whole data folder, and the repair of what is safe to repair."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from treelab.runs.care.finding import Finding, note
from treelab.runs.care.machine import check_machine
from treelab.runs.care.retention import check_size
from treelab.runs.care.runs import check_runs
from treelab.runs.care.tables import check_tables
from treelab.runs.care.workers import check_workers
from treelab.runs.store.database import (
    StoreError,
    database_of,
    is_there,
    prepare,
    read_version,
    reading,
    why_emptied,
)
from treelab.runs.store.remains import remains
from treelab.runs.store.run_store import RunStore
from treelab.runs.store.server import Server


def examine(home: Path, *, repair: bool = False, clean: bool = False) -> list[Finding]:
    """Examine a data folder, which may be in use.

    Parameters
    ----------
    home : Path
    repair : bool, default=False
        Mend what is safe: remove leftovers, end dead runs, set rows right. Nothing that
        holds a model or a table is removed, whatever else is wrong.
    clean : bool, default=False
        Delete the runs and tables beyond the limits of the environment; see
        ``treelab.runs.care.retention``.

    Returns
    -------
    list of Finding

    Raises
    ------
    FileNotFoundError
        If there is no run store.
    """
    database = database_of(home)
    is_lost = not is_there(database) and not remains(home)
    if is_lost or not home.is_dir():
        raise FileNotFoundError(
            f"There is no run store in {home}; --home or TREELAB_HOME names another."
        )
    found = list(check_database(database))
    if repair:
        found = [finding.mended() for finding in found]
    if not any(finding.is_trouble for finding in found):
        try:
            store = RunStore(home)
            for check in (check_tables, check_runs, check_workers):
                for finding in check(store):
                    found.append(finding.mended() if repair else finding)
            found += check_size(store, delete=clean)
        except (OSError, ValueError) as error:
            found.append(Finding("data folder", f"{error}"))
    return [*found, *check_machine(home)]


def check_database(database: Path | Server) -> Iterator[Finding]:
    """Find damage in the database, and which schema it has."""
    errors = ["ok"]
    try:
        if not isinstance(database, Server) and (why := why_emptied(database)):
            yield Finding(
                "database",
                f"{why} Put a backup in its place.",
                remedy="A new one is made, which lists the tables; runs are lost but "
                "for their models.",
                mend=partial(prepare, database, anew=True),
            )
            return
        with reading(database) as db:
            if not isinstance(database, Server):  # a server looks after its own files
                errors = [row[0] for row in db.execute("PRAGMA integrity_check(5)")]
            version = read_version(db)
    except StoreError as error:
        yield Finding("database", f"{error}")
        return
    if errors != ["ok"]:
        yield Finding(
            "database",
            f"{database} is damaged: {'; '.join(errors)}. Put a backup in its place.",
        )
    yield note("database", f"{database}, schema {version}.")
