"""The edits of a tree in their order: a session that undoes them, a log that stays."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from treelab.editing.edits import Edit, SetThreshold, edit_from_dict
from treelab.editing.paths import place_words
from treelab.trees.tree import Tree

VERSION = 1
TRAINERS = {"gradtree": "GradTree", "get": "GET", "cart": "CART"}
MOST_EDITS = 10_000
SHAPE = (
    'A log is JSON such as {"version": 1, "tree": "0123456789abcdef", "edits": '
    '[{"kind": "prune", "path": "LR"}]}, a path being L and R from the root; '
    "`treelab edit RUN` prints one to begin with."
)


@dataclass(frozen=True)
class Training:
    """What trained a tree after its edits.

    ValueError if there is no such learner, or it does not do that.
    """

    learner: str  # "gradtree", "get" or "cart"
    # The node below which the tree was regrown; None: the whole tree was trained.
    below: str | None = None
    # Most leaves below that node; None: as many as there were, at least 4.
    max_leaf_nodes: int | None = None

    def __post_init__(self):
        if self.learner not in TRAINERS:
            names = ", ".join(TRAINERS)
            raise ValueError(f"learner must be one of {names}, got {self.learner!r}.")
        if self.below is not None:
            Edit(self.below)  # or it is no path
        elif self.learner == "cart":
            raise ValueError("CART regrows below a node; name one (its path).")
        most = self.max_leaf_nodes
        if most is not None and (isinstance(most, bool) or not isinstance(most, int)):
            raise ValueError(f"max_leaf_nodes must be an integer, got {most!r}.")
        if most is not None and most < 2:
            raise ValueError(f"max_leaf_nodes must be at least 2, got {most}.")

    def sentence(self) -> str:
        """Return in words what was trained."""
        name = TRAINERS[self.learner]
        if self.below is None:
            return f"All that is not locked was trained by {name}."
        return f"Regrown below {place_words(self.below)} by {name}."


@dataclass(frozen=True)
class EditLog:
    """Edits of one tree, to be replayed."""

    tree: str  # ``tree_hash`` of the tree that was edited
    edits: tuple[Edit, ...] = ()
    training: Training | None = None
    # After how many edits the scores of test rows were looked at; None: unknown.
    seen_test: int | None = None
    run: str = ""  # id of the run whose tree was edited

    def to_json(self) -> str:
        """Write the log, an edit a line."""
        lines = ",\n    ".join(
            json.dumps(edit.to_dict(), ensure_ascii=False) for edit in self.edits
        )
        edits = f"[\n    {lines}\n  ]" if lines else "[]"
        rest: dict[str, Any] = {"version": VERSION, "tree": self.tree}
        if self.run:
            rest["run"] = self.run
        if self.training is not None:
            rest["training"] = {
                name: value
                for name, value in asdict(self.training).items()
                if value is not None
            }
        if self.seen_test is not None:
            rest["seen_test"] = self.seen_test
        head = ",\n  ".join(
            f"{json.dumps(name)}: {json.dumps(value)}" for name, value in rest.items()
        )
        return f'{{\n  {head},\n  "edits": {edits}\n}}\n'

    @classmethod
    def from_json(cls, text: str) -> "EditLog":
        """Read a log that ``to_json`` wrote.

        ValueError if it is none.
        """
        try:
            stored = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(
                f"The log of edits is not JSON: {error}. {SHAPE}"
            ) from error
        if not isinstance(stored, Mapping) or not isinstance(stored.get("edits"), list):
            raise ValueError(
                f"This is not a log of edits: it has no list of edits. {SHAPE}"
            )
        if stored.get("version") != VERSION:
            raise ValueError(
                f"The log has the version {stored.get('version')!r}; this treelab "
                f"reads version {VERSION}. {SHAPE}"
            )
        if len(stored["edits"]) > MOST_EDITS:
            raise ValueError(f"A log may have {MOST_EDITS:,} edits at most.")
        training = stored.get("training")
        if training is not None:
            try:
                training = Training(**training)
            except TypeError as error:
                raise ValueError(f"The log's training is none: {error}.") from error
        seen = stored.get("seen_test")
        return cls(
            str(stored.get("tree", "")),
            tuple(edit_from_dict(edit) for edit in stored["edits"]),
            training,
            seen if isinstance(seen, int) and not isinstance(seen, bool) else None,
            str(stored.get("run", "")),
        )


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


def tree_hash(tree: Tree) -> str:
    """Return a short hash of a tree: equal only where it predicts and counts alike.

    What is written beside a tree (its notes, the target's name) is not part of it.
    """
    settings, arrays = tree.pack()
    features = [asdict(feature) for feature in tree.features]
    digest = hashlib.sha256(repr((features, settings["classes"])).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]
