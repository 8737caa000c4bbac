"""Session: the edits so far, and a position among them that undo and redo move."""

from dataclasses import dataclass, replace

from treelab.editing.edits import Edit, SetThreshold


@dataclass(frozen=True)
class Session:
    """Edits of one tree, of which the first ``position`` are in force."""

    edits: tuple[Edit, ...] = ()  # those after ``position`` were undone
    position: int = 0
    # How many edits were in force when test scores were first shown; None: never.
    seen_test: int | None = None

    @property
    def current(self) -> tuple[Edit, ...]:
        """The edits that are in force."""
        return self.edits[: self.position]

    @property
    def can_undo(self) -> bool:
        """Whether an edit is in force."""
        return self.position > 0

    @property
    def can_redo(self) -> bool:
        """Whether an edit was undone."""
        return self.position < len(self.edits)

    def do(self, edit: Edit) -> "Session":
        """Return the session with one more edit; what was undone is forgotten.

        A threshold that is moved again takes the place of its last move.
        """
        current = self.current
        if isinstance(edit, SetThreshold) and current:
            last = current[-1]
            if isinstance(last, SetThreshold) and last.path == edit.path:
                current = current[:-1]
        n, seen = len(current), self.seen_test  # this edit knows what was seen
        seen = None if seen is None else min(seen, n)
        return Session((*current, edit), n + 1, seen)

    def undo(self) -> "Session":
        """Return the session without its last edit, which can be redone."""
        return replace(self, position=max(0, self.position - 1))

    def redo(self) -> "Session":
        """Return the session with the edit that was undone last."""
        return replace(self, position=min(len(self.edits), self.position + 1))

    def end(self) -> "Session":
        """Return the session with test scores shown."""
        seen = self.position if self.seen_test is None else self.seen_test
        return replace(self, seen_test=seen)
