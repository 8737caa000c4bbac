"""What training reports to those who watch it."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

HISTORY = ["epoch", "train_loss", "valid_loss", "seconds", "stage"]
"""Columns of a learner's ``history_``."""

REPORT_SECONDS = 0.5  # a longer epoch reports in between


@dataclass(frozen=True)
class Progress:
    """One report from a training that is under way.

    Attributes
    ----------
    epoch : float
        Epochs finished; a fraction while a long epoch is under way.
    max_epochs : int
        Epochs after which training ends at the latest.
    train_loss, valid_loss : float
        Of the candidate that leads on validation; NaN where not measured yet.
    seconds : float
        Since training began.
    metric : float or None
        Validation score of the hard model, where the learner measures one.
    stage : str
        Name of the stage, for learners that train in several.
    snapshot : callable or None
        Builds the exported model of the moment; call it only when it is wanted.
    """

    epoch: float
    max_epochs: int
    train_loss: float
    valid_loss: float
    seconds: float
    metric: float | None = None
    stage: str = ""
    snapshot: Callable[[], Any] | None = None


Callback = Callable[[Progress], bool | None]
"""Called with each report; returning True asks to stop with the best model so far."""


def notify(callbacks: Iterable[Callback], progress: Progress) -> bool:
    """Call every callback; return whether one of them asked to stop."""
    returned = [callback(progress) for callback in callbacks]  # each is called
    return any(value is True for value in returned)


@dataclass
class Monitor:
    """Reports a training to its callbacks and records its history.

    A learner that trains in several stages gives each a monitor of its own, by
    ``dataclasses.replace``; they share ``history``.

    Attributes
    ----------
    max_epochs : int
        Epochs of all stages.
    callbacks : sequence of callable
        See ``Callback``.
    snapshot : callable, optional
        Passed on in every ``Progress``.
    stage : str
        Name of the stage.
    epoch_offset : float
        Epochs of the stages before this one.
    started : float
        ``time.monotonic()`` when the fit began.
    history : list of tuple
        Rows of ``HISTORY``, one for each report with a validation loss.
    """

    max_epochs: int
    callbacks: Sequence[Callback] = ()
    snapshot: Callable[[], Any] | None = None
    stage: str = ""
    epoch_offset: float = 0
    started: float = field(default_factory=time.monotonic)
    history: list[tuple] = field(default_factory=list)

    def __post_init__(self):
        """Start the clock of interim reports."""
        self._last_report = time.monotonic()

    def is_due(self) -> bool:
        """Whether the last report is so old that an interim one is wanted."""
        late = time.monotonic() - self._last_report > REPORT_SECONDS
        return bool(self.callbacks) and late

    def notify(self, epoch: float, train_loss: float, valid_loss: float) -> bool:
        """Report to the callbacks alone; return whether one asked to stop.

        ``epoch`` counts from the beginning of the stage.
        """
        return notify(self.callbacks, self._progress(epoch, train_loss, valid_loss))

    def report(self, epoch: float, train_loss: float, valid_loss: float) -> bool:
        """Report to the callbacks and, if the validation loss is finite, the history.

        ``epoch`` counts from the beginning of the stage. Returns whether a callback
        asked to stop.
        """
        progress = self._progress(epoch, train_loss, valid_loss)
        if math.isfinite(valid_loss):
            self.history.append(tuple(getattr(progress, name) for name in HISTORY))
        return notify(self.callbacks, progress)

    def history_frame(self) -> pd.DataFrame:
        """Return the history, one row a report, with the columns of ``HISTORY``."""
        return pd.DataFrame(self.history, columns=HISTORY)

    def _progress(self, epoch, train_loss, valid_loss) -> Progress:
        """Build a report and note the time."""
        self._last_report = time.monotonic()
        return Progress(
            epoch=self.epoch_offset + epoch,
            max_epochs=self.max_epochs,
            train_loss=train_loss,
            valid_loss=valid_loss,
            seconds=self._last_report - self.started,
            stage=self.stage,
            snapshot=self.snapshot,
        )
