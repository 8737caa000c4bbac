"""Checkpoints of a fit, from which one that was cut off goes on exactly where it was.

A fit is a series of stages, each a training loop, with quick work of known outcome
between them: first trees, scores, exports. A fit that goes on does that work again, as
its seeds give the same, reads what finished stages ended with, and continues the one
that was under way. So learners need not know of checkpoints; their loops do.
"""

import json
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

CHECKPOINT_SECONDS = 30.0  # from one to the next
WRITING_FRACTION = 0.05  # of the training's time may go into checkpoints
_FORMAT = 3  # of what loops save; checkpoints of another are not used
_UNDER_WAY = "under-way.safetensors"
_ENDING = ".safetensors"

State = tuple[Any, dict[str, np.ndarray]]
"""Plain values for JSON, and arrays by name."""


class Checkpointer:
    """Saves and loads the stages of a fit, as files of a folder; never pickle.

    Given to ``fit`` as one of its callbacks. Each file is written aside and renamed, so
    that a killed process leaves none by halves. The folder, of one fit alone, is made
    where needed; ``identity`` says what the fit is of, and a checkpoint of another is
    not used; ``interval`` are the seconds from one checkpoint to the next.
    ``before_writing`` is called ahead of each, and raises where none may be written.

    ``in_stage`` says whether a stage is under way that will soon be saved when asked,
    ``has_open_end`` whether one ended only because its epochs were used up;
    ``seconds_before`` is the training time of the attempts before this one, up to their
    last checkpoint.
    """

    def __init__(
        self, folder: Path, identity: str = "", interval: float = CHECKPOINT_SECONDS
    ):
        self.in_stage = self.has_open_end = False
        self.before_writing: Callable[[], object] = lambda: None
        self._folder, self._interval = folder, interval
        self._identity = f"{_FORMAT} {identity}"
        self._began = time.monotonic()
        self._due = self._began + interval
        self._number = 0  # of the stage that begins next
        self._pending: dict[int, State] = {}  # finished, not written yet
        self._ending: BaseException | None = None
        self._closed = False
        self._stale: list[Path] = []  # what a training that goes on has left behind
        self._found, self._under_way, self.seconds_before = self._read()

    def __call__(self, report: Any) -> None:
        """Take a report, as callbacks do; nothing is done with it."""

    @property
    def is_empty(self) -> bool:
        """Whether the folder had nothing to go on from."""
        return not self._found and self._under_way is None

    def begin(self) -> "Stage":
        """Begin the next stage of the fit."""
        number, self._number = self._number, self._number + 1
        stage = Stage(None if self._closed else self)
        if number in self._found:
            stage.saved, stage.is_finished = self._found.pop(number), True
            return stage
        self.in_stage = not self._closed
        if self._under_way is not None and self._under_way[0] == number:
            stage.saved = self._under_way[1]
        self._under_way = None
        return stage

    def end_with(self, error: BaseException) -> None:
        """Raise an error in the loop of the stage, once its state is saved."""
        self._ending = error

    def reopen(self) -> None:
        """Forget what came after the last stage that was begun, as it goes on."""
        self._found, self.in_stage = {}, not self._closed
        self._stale = sorted(self._folder.glob(f"finished-*{_ENDING}"))

    def flush(self) -> None:
        """Save the stages that have finished, as the fit is about to end."""
        if self._pending:
            self.write(None)

    def close(self) -> None:
        """Save nothing more, as what follows a stop is not what was to be trained."""
        self._closed, self.in_stage = True, False

    def is_due(self) -> bool:
        """Whether it is time to save the stage that is under way."""
        return self._ending is not None or time.monotonic() >= self._due

    def write(self, under_way: State | None, finished: State | None = None) -> None:
        """Save a stage's state, and those that finished since the last checkpoint."""
        if finished is not None:
            self._pending[self._number - 1] = finished
            self.in_stage = False
            if not self.is_due():
                return
        began = time.monotonic()
        try:
            self.before_writing()
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._pending:
                first = min(self._pending)
                self._write(f"finished-{first:06d}{_ENDING}", self._pending)
                self._pending = {}
            if under_way is not None:
                self._write(_UNDER_WAY, {self._number - 1: under_way})
                for path in self._stale:
                    path.unlink(missing_ok=True)
                self._stale = []
        except OSError as error:  # a full disk ends no training
            warnings.warn(f"No checkpoint was written: {error}", stacklevel=2)
        now = time.monotonic()
        self._due = now + max(self._interval, (now - began) / WRITING_FRACTION)
        if self._ending is not None:
            self.in_stage = False
            raise self._ending

    def _write(self, name: str, stages: dict[int, State]) -> None:
        """Write the states of stages, by their number, as one file."""
        arrays = {
            f"{number}/{key}": np.ascontiguousarray(array)
            for number, (_, own) in stages.items()
            for key, array in own.items()
        }
        header = {
            "identity": self._identity,
            "seconds": self.seconds_before + time.monotonic() - self._began,
            "stages": {str(number): plain for number, (plain, _) in stages.items()},
        }
        content = save(arrays, metadata={"header": json.dumps(header)})
        part = self._folder / f"{name}.part"
        with open(part, "wb", opener=_open_private) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(self._folder / name)

    def _read(self) -> tuple[dict[int, State], tuple[int, State] | None, float]:
        """Read the finished stages, the one under way, and the seconds they took.

        Of files that are damaged, or of another fit, none is used.
        """
        finished: dict[int, State] = {}
        seconds = 0.0
        for path in sorted(self._folder.glob(f"finished-*{_ENDING}")):
            stages, at = self._load(path)
            finished |= stages
            seconds = max(seconds, at)
        n_in_turn = 0
        while n_in_turn in finished:
            n_in_turn += 1
        finished = {number: finished[number] for number in range(n_in_turn)}
        stages, at = self._load(self._folder / _UNDER_WAY)
        if n_in_turn not in stages:
            return finished, None, seconds
        return finished, (n_in_turn, stages[n_in_turn]), max(seconds, at)

    def _load(self, path: Path) -> tuple[dict[int, State], float]:
        """Read the stages of a file, and the seconds of training until it was written.

        Nothing where there is no such file, or none of this fit.
        """
        if not path.is_file():
            return {}, 0.0
        try:
            with safe_open(path, framework="np") as file:
                header = json.loads(file.metadata()["header"])
                if header["identity"] != self._identity:
                    return {}, 0.0
                found: dict[int, State] = {
                    int(number): (plain, {})
                    for number, plain in header["stages"].items()
                }
                names = file.keys()  # it cannot be iterated itself
                for name in names:
                    number, key = name.split("/", 1)
                    found[int(number)][1][key] = file.get_tensor(name)
            return found, float(header["seconds"])
        except (SafetensorError, OSError, ValueError, KeyError, TypeError):
            return {}, 0.0


@dataclass
class Stage:
    """One training loop of a fit."""

    checkpointer: Checkpointer | None = None
    saved: State | None = None  # what was saved of it before
    is_finished: bool = False  # whether it had finished: ``saved`` is how it ended

    @property
    def is_saved(self) -> bool:
        """Whether anything is saved of it."""
        return self.checkpointer is not None

    def reopen(self) -> None:
        """Go on with a stage that had finished."""
        self.is_finished = False
        if self.checkpointer is not None:
            self.checkpointer.reopen()

    @property
    def is_due(self) -> bool:
        """Whether ``save`` is wanted now."""
        return self.checkpointer is not None and self.checkpointer.is_due()

    def save(self, state: State) -> None:
        """Save the stage as it is under way; raises what the fit is to end with."""
        if self.checkpointer is not None:
            self.checkpointer.write(state)

    def finish(self, state: Callable[[], State], *, has_open_end: bool = False) -> None:
        """Save how the stage ended, with the next checkpoint."""
        if self.checkpointer is not None:
            self.checkpointer.has_open_end |= has_open_end
            self.checkpointer.write(None, finished=state())

    def once(self, work: Callable[[], np.ndarray]) -> np.ndarray:
        """Return what a stage of one piece of work ends with: saved before, or now."""
        if self.saved is not None:
            return self.saved[1]["result"]
        result = work()
        self.finish(lambda: (None, {"result": result}))
        return result

    def stop(self) -> None:
        """Note that training was stopped before its end: nothing more is saved."""
        if self.checkpointer is not None:
            self.checkpointer.close()


def _open_private(path: str, flags: int) -> int:
    """Open a file that its owner alone may read."""
    return os.open(path, flags, 0o600)
