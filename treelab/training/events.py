"""What training tells those who watch it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

HISTORY = ["epoch", "train_loss", "valid_loss", "seconds", "stage"]
"""Columns of a learner's ``history_``."""


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
"""Hears each report; answering True asks to stop and keep the best so far."""


def stop_asked(callbacks, progress: Progress) -> bool:
    """Tell every callback and say whether one of them asked to stop."""
    answers = [callback(progress) for callback in callbacks]
    return any(answer is True for answer in answers)
