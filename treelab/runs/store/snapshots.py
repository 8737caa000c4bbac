"""Trees as they were while a run trained: a file each, thinned out as they add up."""

import json
from pathlib import Path

from treelab.runs.store.private import make_private_folder, open_private
from treelab.trees.tree import Tree

MOST_SNAPSHOTS = 60


def write_snapshot(folder: Path, epoch: float, tree: Tree) -> None:
    """Save the tree of an epoch, and delete an older one when there are many.

    Of more than ``MOST_SNAPSHOTS`` the one goes whose neighbours are nearest to each
    other; the first and the newest stay, so they cover the whole training evenly.
    """
    make_private_folder(folder)
    path = folder / f"{epoch:013.4f}.json"
    part = path.with_suffix(".part")
    with open_private(part, "w", "utf-8") as file:
        json.dump(tree.to_dict(), file)
    part.replace(path)
    files = _files(folder)
    if len(files) > MOST_SNAPSHOTS:
        epochs = snapshot_epochs(folder)
        gaps = [after - before for before, after in zip(epochs, epochs[2:])]
        files[1 + gaps.index(min(gaps))].unlink(missing_ok=True)


def snapshot_epochs(folder: Path) -> list[float]:
    """List the epochs that have a snapshot, first to last."""
    return [float(file.stem) for file in _files(folder)]


def read_snapshot(folder: Path, epoch: float) -> Tree:
    """Read the tree of an epoch of ``snapshot_epochs``.

    Raises
    ------
    LookupError
        If that epoch has none, or has been thinned out since.
    """
    path = folder / f"{epoch:013.4f}.json"
    try:
        return Tree.from_dict(json.loads(path.read_text("utf-8")))
    except FileNotFoundError as error:
        raise LookupError(f"No tree was saved at epoch {epoch:g}.") from error


def _files(folder: Path) -> list[Path]:
    """List the snapshot files by epoch; names of one width sort as numbers do."""
    return sorted(folder.glob("*.json"))
