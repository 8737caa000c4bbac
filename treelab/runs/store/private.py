"""Folders and files of the data folder: only their owner may read them."""

import os
from pathlib import Path
from typing import IO, Any

FILE_MODE = 0o600
FOLDER_MODE = 0o700


def make_private_folder(folder: Path) -> None:
    """Make a folder that only its owner may enter; one that is there stays as it is."""
    folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)


def open_private(path: Path, mode: str, encoding: str | None = None) -> IO[Any]:
    """Open a file; one that is made is readable by its owner only."""
    return open(path, mode, encoding=encoding, opener=_open)


def _open(path: str, flags: int) -> int:
    """Open a file with the mode of a private one."""
    return os.open(path, flags, FILE_MODE)
