"""What need not be worked out again."""

from collections.abc import Callable, Hashable
from typing import TypeVar

Result = TypeVar("Result")


class Memo:
    """What fits on the same rows share, by name.

    Attributes
    ----------
    most : int
        Results that are held; the first goes when another comes.
    """

    def __init__(self, most: int = 64):
        self.most = most
        self._held: dict[Hashable, object] = {}

    def once(self, key: Hashable, make: Callable[[], Result]) -> Result:
        """Return what ``make`` returned when it was first called for this key."""
        if key not in self._held:
            made = make()
            while len(self._held) >= self.most:
                self._held.pop(next(iter(self._held)))
            self._held[key] = made
        return self._held[key]  # type: ignore[return-value]
