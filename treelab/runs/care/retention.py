"""How long runs stay and how large a data folder grows, where somebody set limits."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from treelab.runs.store.files import folder_size, limit_of, table_size
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.runs.store.tables import TableInfo
from treelab.runs.users import log_action

COMMAND = "treelab doctor --clean"
DAY = 86_400.0  # seconds; a table that came today may still get its first run


@dataclass(frozen=True)
class Limits:
    """What a cleaning leaves; None: no limit."""

    keep_days: float | None = None  # days after which a finished run goes
    # Size of the data folder, in 10**9 bytes, from which on the oldest finished runs
    # go.
    most_gb: float | None = None

    @classmethod
    def from_environment(cls) -> "Limits":
        """Read ``TREELAB_KEEP_DAYS`` and ``TREELAB_MOST_GB``; ValueError if wrong."""
        return cls(limit_of("TREELAB_KEEP_DAYS"), limit_of("TREELAB_MOST_GB"))

    def __str__(self) -> str:
        """Say in a sentence what a cleaning deletes; "" without limits."""
        parts = []
        if self.keep_days is not None:
            parts.append(f"runs that finished more than {self.keep_days:,g} days ago")
        if self.most_gb is not None:
            parts.append(f"the oldest runs beyond {self.most_gb:,g} GB")
        return f"{COMMAND} deletes {' and '.join(parts)}." if parts else ""


@dataclass(frozen=True)
class CleaningPlan:
    """What a cleaning would delete."""

    runs: tuple[Run, ...]
    tables: tuple[TableInfo, ...]  # those that no other run needs
    n_bytes: int  # size of the data folder now
    n_bytes_after: int  # its size without them


def plan_cleaning(store: RunStore, limits: Limits, now: float) -> CleaningPlan:
    """Choose what goes now, the oldest first.

    A run that waits, trains or is paused stays, and so does one with whose tree such a
    run begins.
    """
    runs = store.runs()
    begun_with = {first_id(store, run) for run in runs if not _has_ended(run)}
    users = Counter(table_id for run in runs for table_id in run.table_ids)
    tables = {info.id: info for info in reversed(store.tables())}
    n_bytes = size = folder_size(store.home)
    gone_runs: list[Run] = []
    gone_tables: list[TableInfo] = []

    def must_go(since: float, grace: float) -> bool:
        keep, most = limits.keep_days, limits.most_gb
        expired = keep is not None and now - since > keep * DAY
        too_large = most is not None and size > most * 1e9
        return expired or (too_large and now - since > grace)

    def drop_tables(table_ids) -> int:
        freed = 0
        for table_id in table_ids:
            info = tables.get(table_id)
            if info and not users[table_id] and must_go(info.created, DAY):
                del tables[table_id]
                gone_tables.append(info)
                freed += table_size(store.home, table_id)
        return freed

    for table_id in list(tables):
        size -= drop_tables([table_id])
    for run in sorted(runs, key=lambda run: run.finished or now):
        may_go = _has_ended(run) and run.id not in begun_with
        if may_go and must_go(run.finished or run.created, 0.0):
            gone_runs.append(run)
            size -= folder_size(store.folder(run.id))
            users.subtract(run.table_ids)
            size -= drop_tables(run.table_ids)
    return CleaningPlan(tuple(gone_runs), tuple(gone_tables), n_bytes, size)


def _has_ended(run: Run) -> bool:
    """Whether nobody means to train a run any more; one that is paused waits."""
    return run.is_finished and run.state != "paused"


def first_id(store: RunStore, run: Run) -> str:
    """Return the id of the run with whose tree a run's training begins; "" for none."""
    try:
        plans = [store.plan(run.id, name) for name in ("edits", "more")]
    except LookupError:  # deleted since it was listed
        return ""
    return next((json.loads(text).get("run", "") for text in plans if text), "")


def clean(store: RunStore, plan: CleaningPlan) -> Iterator[str]:
    """Delete what a plan names, and tell each.

    A table needed since then stays, and a run that was taken up again.
    """
    for run in plan.runs:
        with suppress(LookupError):
            if not _has_ended(store.run(run.id)):
                continue
        store.delete(run.id)
        log_action(store, "doctor", "delete run", run.id, run.title)
        yield f"Deleted the run {run.id}, {run.title}."
    for info in plan.tables:
        with suppress(ValueError):
            store.delete_table(info.id)
            log_action(store, "doctor", "delete table", info.id, info.name)
            yield f"Deleted the table {info.name}."
