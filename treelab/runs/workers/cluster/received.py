"""What a training on the cluster sends, written into the store of the app's machine."""

import json
import shutil
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path, PurePosixPath

import pandas as pd

from treelab.data.problem import Problem
from treelab.runs.store.private import make_private_folder, open_private
from treelab.runs.store.run_store import RunStore
from treelab.runs.workers.cluster.payload import PARENT_FILES, TRAINED, Item
from treelab.training.events import Progress


class Received:
    """Writes the messages of one training of a run.

    Parameters
    ----------
    store : RunStore
    run_id : str
    """

    def __init__(self, store: RunStore, run_id: str):
        self._store, self._run_id = store, run_id
        self._tables: dict[str, str] = {}  # by its id there: its id here

    def write(self, item: Item) -> None:
        """Write one message.

        Raises
        ------
        OSError
            If the store cannot be written.
        ValueError
            If it has files that no training writes.
        """
        kind, facts = item
        store, run_id = self._store, self._run_id
        if kind == "events":
            reports = [Progress(**each) for each in json.loads(facts["json"])]
            store.add_events(run_id, reports)
        elif kind == "history":
            store.replace_events(run_id, pd.DataFrame(json.loads(facts["json"])))
        elif kind == "settings":
            store.set_settings(run_id, json.loads(facts["json"]))
        elif kind == "table":
            frame = pd.read_parquet(BytesIO(facts["content"]))
            self._tables[facts["id"]] = store.add_table(frame, facts["name"])
        elif kind == "problem":
            plain = json.loads(facts["json"])
            plain["table_id"] = self._tables.get(plain["table_id"], plain["table_id"])
            store.set_problem(run_id, Problem.from_dict(plain))
        elif kind == "files":
            write_files(store.folder(run_id), facts["files"])


def write_files(folder: Path, files: Mapping[str, bytes | None]) -> None:
    """Write files into a run's folder by path, each whole or not at all; None: remove.

    Those of a model come together, and so does their folder.

    Raises
    ------
    ValueError
        If a path is none of what a training writes.
    """
    models: dict[str, dict[str, bytes]] = {}
    for name, content in files.items():
        top, *rest = PurePosixPath(name).parts
        if top not in TRAINED or ".." in rest:
            raise ValueError(f"A training on the cluster sent a file named {name!r}.")
        if content is None:
            (folder / name).unlink(missing_ok=True)
        elif top in PARENT_FILES:
            models.setdefault(top, {})[name] = content
        else:
            _write(folder / name, content)
    for top, parts in models.items():
        part = folder / f"{top}.part"
        shutil.rmtree(part, ignore_errors=True)
        for name, content in parts.items():
            _write(part / PurePosixPath(name).relative_to(top), content)
        shutil.rmtree(folder / top, ignore_errors=True)
        part.replace(folder / top)


def _write(path: Path, content: bytes) -> None:
    """Write a file aside and rename it."""
    make_private_folder(path.parent)
    part = path.with_name(f"{path.name}.part")
    with open_private(part, "wb") as file:
        file.write(content)
    part.replace(path)
