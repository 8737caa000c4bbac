"""What a run takes along to a machine of the cluster, as plain values and bytes.

The table goes apart from it, since many runs share one.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import treelab
from treelab.data.problem import Problem
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore

Payload = dict[str, Any]
Item = tuple[str, dict]
"""A message: its kind and its facts, all of them plain values or bytes."""

ABORT = "abort"  # asked of a task, beside "stop" and "pause"
PARENT_FILES = ("model", "path", "rashomon")  # what a run reads of the one before it
TRAINED = ("snapshots", "checkpoint", "log.txt", *PARENT_FILES)  # what training writes


def run_payload(
    store: RunStore, run: Run, replaced: Mapping[str, bytes] | None = None
) -> Payload:
    """Return what a run needs to be trained where the store is not seen.

    Parameters
    ----------
    store : RunStore
    run : Run
    replaced : mapping of str to bytes, optional
        Files in the place of those of the run's folder, by name.

    Returns
    -------
    dict
        ``version`` of treelab, ``runs`` (the run, then the one from whose tree it
        begins), ``table`` (its name, rows and columns), ``files`` by path below the
        store's ``runs``.

    Raises
    ------
    ValueError
        If the run's table is gone.
    """
    own = store.folder(run.id)
    files = {f"{run.id}/{name}": each for name, each in _read(own).items()}
    for name, content in (replaced or {}).items():
        files[f"{run.id}/{name}"] = content
    runs = [plain_run(run)]
    if (parent := _parent(store, run)) is not None:
        runs.append(plain_run(parent))
        for name, content in _read(store.folder(parent.id), PARENT_FILES).items():
            files[f"{parent.id}/{name}"] = content
    info = next((t for t in store.tables() if t.id == run.problem.table_id), None)
    if info is None:
        raise ValueError(f"The table {run.problem.table_name!r} is gone.")
    return {
        "version": treelab.__version__,
        "runs": runs,
        "table": [info.name, info.n_rows, info.n_columns],
        "files": files,
    }


def check_version(payload: Payload) -> None:
    """Raise ValueError unless the payload was made by this treelab."""
    if payload["version"] != treelab.__version__:
        raise ValueError(
            f"This machine of the cluster has treelab {treelab.__version__}, the app's "
            f"has {payload['version']}. Install the same on both."
        )


def table_content(store: RunStore, table_id: str) -> bytes:
    """Read the Parquet file of a table."""
    return store.table_file(table_id).read_bytes()


def plain_run(run: Run) -> dict[str, Any]:
    """Return a run as plain values."""
    return asdict(run)


def run_of(plain: Mapping[str, Any]) -> Run:
    """Return the run of ``plain_run``'s values."""
    return Run(**{**plain, "problem": Problem.from_dict(plain["problem"])})


def _parent(store: RunStore, run: Run) -> Run | None:
    """Return the run from whose tree a run begins, None where it begins anew."""
    text = store.edits(run.id) or store.more(run.id) or "{}"
    try:
        return store.run(json.loads(text)["run"])
    except LookupError:  # none, or it is gone, as the training says
        return None


def whole_files(folder: Path, only: Sequence[str] = ()) -> dict[str, Path]:
    """List the files below a run's folder by path, but for what is half written.

    Parameters
    ----------
    folder : Path
    only : sequence of str, optional
        Names in the folder, of files or folders; none: all.
    """
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        is_part = any(part.endswith((".part", ".old", ".lock")) for part in name.parts)
        if path.is_file() and not is_part and (not only or name.parts[0] in only):
            found[name.as_posix()] = path
    return found


def _read(folder: Path, only: Sequence[str] = ()) -> dict[str, bytes]:
    """Read these files."""
    return {name: path.read_bytes() for name, path in whole_files(folder, only).items()}
