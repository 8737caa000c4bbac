"""What a killed process left behind, as against what a living one is writing."""

import time
from pathlib import Path

OLD_SECONDS = 3600.0  # unchanged for so long, nobody is writing it any more


def is_old(path: Path) -> bool:
    """Whether a file, or all of a folder, has not been changed for an hour."""
    try:
        newest = max(each.stat().st_mtime for each in (path, *path.rglob("*")))
    except (OSError, ValueError):  # it went away while we looked
        return False
    return time.time() - newest > OLD_SECONDS
