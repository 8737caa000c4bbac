"""What an examination of a data folder finds, and what a killed process left behind."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True)
class Diagnosis:
    """One thing that was found, good or bad."""

    about: str  # what it is about: "database", "run cart-abc", "disk"
    message: str  # what was found, in sentences
    is_trouble: bool = True  # whether somebody should do something about it
    # What a repair does, in a sentence; "" where only a person can decide.
    remedy: str = ""
    mend: Callable[[], object] | None = None  # does it; raises OSError where it cannot
    is_mended: bool = False  # whether it was done

    def mended(self) -> "Diagnosis":
        """Return this finding once its remedy is applied, where it has one."""
        if self.mend is None or self.is_mended:
            return self
        try:
            self.mend()
        except OSError as error:
            return replace(self, message=f"{self.message} Not mended: {error}.")
        return replace(self, is_trouble=False, is_mended=True)

    def to_dict(self) -> dict:
        """Return plain values, for JSON."""
        return {
            "about": self.about,
            "message": self.message,
            "trouble": self.is_trouble,
            "remedy": self.remedy,
            "mended": self.is_mended,
        }


def note(about: str, message: str) -> Diagnosis:
    """Return a finding that is no trouble."""
    return Diagnosis(about, message, is_trouble=False)


# What a killed process left behind, as against what a living one is writing.


OLD_SECONDS = 3600.0  # unchanged for so long, nobody is writing it any more


def is_old(path: Path) -> bool:
    """Whether a file, or all of a folder, has not been changed for an hour."""
    try:
        newest = max(each.stat().st_mtime for each in (path, *path.rglob("*")))
    except (OSError, ValueError):  # it went away while we looked
        return False
    return time.time() - newest > OLD_SECONDS
