"""Workers that are registered and dead."""

from collections.abc import Iterator
from functools import partial

from treelab.runs.care.finding import Finding, note
from treelab.runs.store.run_store import RunStore


def check_workers(store: RunStore) -> Iterator[Finding]:
    """Find the entries of workers of this machine whose process has ended."""
    registry = store.worker_registry
    n_alive = 0
    for worker in registry.workers():
        process = worker.process
        if not process.is_local or process.is_alive():
            n_alive += 1
            continue
        yield Finding(
            f"worker {worker.slot}",
            f"Its process {process.pid} has ended.",
            remedy="Its entry is removed.",
            mend=partial(registry.unregister, worker.slot, process),
        )
    yield note("workers", f"{n_alive:,} registered and alive.")
