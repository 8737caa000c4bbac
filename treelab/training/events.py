"""What training reports to those who watch it."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from treelab.training.checkpointer import Checkpointer, Stage

HISTORY = ["epoch", "train_loss", "valid_loss", "seconds", "stage"]
"""Columns of a learner's ``history_``."""

REPORT_SECONDS = 0.5  # a longer epoch reports in between
CROSS_VALIDATION = "cross-validation"  # a preparation that has a curve of its own
TRAINING = "training"  # the stage that trains the model that is retained


@dataclass(frozen=True)
class RetainedCurve:
    """The curve of the candidate that is retained, in place of the leaders' so far."""

    history: pd.DataFrame  # columns as in ``HISTORY``
    # Builds the candidate's model of an epoch, as of the start, 0, and of the end.
    snapshots: Mapping[float, Callable[[], Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Progress:
    """One report from a training that is under way."""

    # Epochs finished, 0 for the start; a fraction while a long epoch is under way.
    # Counted anew once the preparation is done.
    epoch: float
    max_epochs: int  # epochs until it ends at the latest, preparation included
    # Of the candidate that leads on validation; NaN where not measured yet. Of a
    # preparation the validation loss alone may be known: the mean of the models that
    # it trains, on rows held out from them.
    train_loss: float
    valid_loss: float
    seconds: float  # since training began
    stage: str = TRAINING  # its name, as "cross-validation", "training", "polish"
    # Whether the stage comes before the training of the model that is retained: it
    # moves the progress, and its losses are on no history.
    is_preparation: bool = False
    epochs_before: float = 0  # epochs of the preparation before this stage
    # Builds the exported model of the moment; call it only when it is wanted.
    snapshot: Callable[[], Any] | None = None
    # Given once, where the candidate that is retained turns out after training.
    retained: RetainedCurve | None = None

    @property
    def total_epoch(self) -> float:
        """Epochs finished of ``max_epochs``, preparation included."""
        return self.epochs_before + self.epoch


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
    ``next_stage``; they share ``history``. What comes before the training of the model
    that is retained, as cross-validation, is a preparation: it is reported and is not
    on the history.
    The curve begins at the start: ``report`` it with epoch 0.
    """

    max_epochs: int  # of all stages
    callbacks: Sequence[Callback] = ()
    # Passed on in every ``Progress``, except in a preparation.
    snapshot: Callable[[], Any] | None = None
    stage: str = TRAINING
    is_preparation: bool = False
    # Epochs of the stages before this one, from the first on the curve.
    epoch_offset: float = 0
    epochs_before: float = 0  # of the preparation before this stage
    # ``time.monotonic()`` when the fit began.
    started: float = field(default_factory=time.monotonic)
    # Rows of ``HISTORY``, one for each report on the curve.
    history: list[tuple] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Start the clock of interim reports."""
        self._last_report = time.monotonic()
        self._last_epoch = self.epoch_offset
        self._own_rows = len(self.history)  # where this stage's begin
        self._losses: list[tuple[np.ndarray, np.ndarray]] = []  # (K,), a report

    def next_stage(
        self,
        stage: str,
        n_epochs: int,
        *,
        snapshot: Callable[[], Any] | None = None,
        is_preparation: bool = False,
    ) -> "Monitor":
        """Return the monitor of the stage that follows this one's last report.

        ``n_epochs`` are those until the fit ends at the latest, counted from here.
        """
        before, offset = self.epochs_before, self._last_epoch
        if self.is_preparation:
            before, offset = before + offset, 0
        return replace(
            self,
            stage=stage,
            max_epochs=math.ceil(before + offset + n_epochs),
            snapshot=snapshot,
            is_preparation=is_preparation,
            epoch_offset=offset,
            epochs_before=before,
        )

    @property
    def checkpointers(self) -> list[Checkpointer]:
        """Those of the callbacks that save checkpoints: one, or none."""
        return [each for each in self.callbacks if isinstance(each, Checkpointer)]

    def begin_stage(self) -> Stage:
        """Begin a training loop, which may go on from a checkpoint."""
        found = self.checkpointers
        return found[0].begin() if found else Stage()

    def position(self) -> tuple[int, ...]:
        """Return how much was reported so far; see ``since``."""
        return len(self.history), len(self._losses)

    def since(self, position: tuple[int, ...]) -> dict:
        """Return what was reported since a ``position``, for a checkpoint."""
        losses = self._losses[position[1] :]
        return {
            "history": self.history[position[0] :],
            "losses": [np.array(each) for each in zip(*losses)],
            "last_epoch": self._last_epoch,
            "seconds": time.monotonic() - self.started,
        }

    def resume(self, position: tuple[int, ...], saved: dict) -> None:
        """Put back what ``since`` returned, and show the callbacks the curve so far."""
        self.history[position[0] :] = [tuple(row) for row in saved["history"]]
        self._losses[position[1] :] = list(zip(*saved["losses"]))
        self._last_epoch = saved["last_epoch"]
        self.started = time.monotonic() - saved["seconds"]
        self.show(RetainedCurve(self.history_frame()))

    def show(self, curve: RetainedCurve) -> None:
        """Give the callbacks a curve in place of what was reported so far."""
        own_epoch = self._last_epoch - self.epoch_offset
        report = self._progress(own_epoch, math.nan, math.nan)
        notify(self.callbacks, replace(report, retained=curve))

    def is_due(self) -> bool:
        """Whether the last report is so old that an interim one is wanted."""
        late = time.monotonic() - self._last_report > REPORT_SECONDS
        return bool(self.callbacks) and late

    def notify(self, epoch: float, train_loss: float, valid_loss: float) -> bool:
        """Report to the callbacks alone; return whether one asked to stop.

        ``epoch`` counts from the beginning of the stage.
        """
        return notify(self.callbacks, self._progress(epoch, train_loss, valid_loss))

    def report(
        self,
        epoch: float,
        train_loss: float | np.ndarray,
        valid_loss: float | np.ndarray,
    ) -> bool:
        """Report to the callbacks and, with a loss on the curve, to the history.

        ``epoch`` counts from the beginning of the stage; 0 is the start. Of the losses
        (K,) of each candidate, those of the one that leads on validation are reported;
        where nothing is validated, of the one that leads in training. Returned is
        whether a callback asked to stop.
        """
        losses = np.atleast_1d(train_loss), np.atleast_1d(valid_loss)
        ranked = losses[1] if np.isfinite(losses[1]).any() else losses[0]
        leader = int(np.where(np.isfinite(ranked), ranked, np.inf).argmin())
        train, valid = (float(loss[leader]) for loss in losses)
        progress = self._progress(epoch, train, valid)
        is_measured = any(map(math.isfinite, (train, valid)))
        if is_measured and not self.is_preparation:
            self.history.append(tuple(getattr(progress, name) for name in HISTORY))
            self._losses.append(losses)
        return notify(self.callbacks, progress)

    def retain(
        self, candidate: int, snapshots: Mapping[float, Callable[[], Any]] | None = None
    ) -> None:
        """Make this stage's curve that of one candidate, and tell the callbacks.

        It is numbered as in the losses of ``report``. Until it is known which is
        retained, the curve is the leaders'. Snapshots are those of ``RetainedCurve``.
        """
        own = slice(self._own_rows, self._own_rows + len(self._losses))
        self.history[own] = self.curve_of(candidate)
        self.show(RetainedCurve(self.history_frame(), snapshots or {}))

    def curve_of(self, candidate: int) -> list[tuple]:
        """Return this stage's rows of the history with the losses of one candidate."""
        return [
            (row[0], float(train[candidate]), float(valid[candidate]), *row[3:])
            for row, (train, valid) in zip(self.history[self._own_rows :], self._losses)
        ]

    def history_frame(self) -> pd.DataFrame:
        """Return the history, one row a report, with the columns of ``HISTORY``."""
        return pd.DataFrame(self.history, columns=HISTORY)

    def _progress(self, epoch, train_loss, valid_loss) -> Progress:
        """Build a report and note its time and epoch."""
        self._last_report = time.monotonic()
        self._last_epoch = self.epoch_offset + epoch
        return Progress(
            epoch=self._last_epoch,
            max_epochs=self.max_epochs,
            train_loss=train_loss,
            valid_loss=valid_loss,
            seconds=self._last_report - self.started,
            stage=self.stage,
            is_preparation=self.is_preparation,
            epochs_before=self.epochs_before,
            snapshot=None if self.is_preparation else self.snapshot,
        )
