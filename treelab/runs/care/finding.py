"""What an examination of a data folder finds."""

from collections.abc import Callable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Finding:
    """One thing that was found, good or bad.

    Attributes
    ----------
    about : str
        What it is about: "database", "run cart-abc", "disk", ...
    message : str
        What was found, in sentences.
    is_trouble : bool
        Whether somebody should do something about it.
    remedy : str
        What a repair does, in a sentence; "" where only a person can decide.
    mend : callable or None
        Does it; raises OSError where it cannot.
    is_mended : bool
        Whether it was done.
    """

    about: str
    message: str
    is_trouble: bool = True
    remedy: str = ""
    mend: Callable[[], object] | None = None
    is_mended: bool = False

    def mended(self) -> "Finding":
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


def note(about: str, message: str) -> Finding:
    """Return a finding that is no trouble."""
    return Finding(about, message, is_trouble=False)
