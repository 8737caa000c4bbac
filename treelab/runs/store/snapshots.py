"""Trees as they were while a run trained: a file each, thinned as they add up."""

import json
from pathlib import Path

from treelab.trees.tree import Tree

MOST_SNAPSHOTS = 60


def write_snapshot(folder: Path, epoch: float, tree: Tree) -> None:
    """Keep a tree under the epoch it was seen at, and thin the row when it is long.

    Of more than ``MOST_SNAPSHOTS`` the one goes whose neighbours are nearest to each
    other; the first and the newest stay, so the row tells the whole training evenly.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{epoch:013.4f}.json"
    part = path.with_suffix(".part")
    part.write_text(json.dumps(tree.to_dict()), "utf-8")
    part.replace(path)
    kept = _files(folder)
    if len(kept) > MOST_SNAPSHOTS:
        at = snapshot_epochs(folder)
        gaps = [after - before for before, after in zip(at, at[2:])]
        kept[1 + gaps.index(min(gaps))].unlink(missing_ok=True)


def snapshot_epochs(folder: Path) -> list[float]:
    """List the epochs that have a snapshot, first to last."""
    return [float(file.stem) for file in _files(folder)]


def read_snapshot(folder: Path, epoch: float) -> Tree:
    """Read the tree that was kept at an epoch of ``snapshot_epochs``.

    Raises
    ------
    LookupError
        If that epoch has none, or has been thinned out since.
    """
    path = folder / f"{epoch:013.4f}.json"
    try:
        return Tree.from_dict(json.loads(path.read_text("utf-8")))
    except FileNotFoundError as error:
        raise LookupError(f"No tree was kept at epoch {epoch:g}.") from error


def _files(folder: Path) -> list[Path]:
    """Snapshot files by epoch; their names are of one width, so they sort."""
    return sorted(folder.glob("*.json"))
