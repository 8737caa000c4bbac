"""A sweep's plan: what is tried, how often, and by which score."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from treelab.learners.common.search_space import (
    Preset,
    Range,
    Space,
    Values,
    check_space,
    from_plain,
    to_plain,
)
from treelab.learners.registry import find_spec

SCORINGS = ("own", "folds", "validation")


@dataclass(frozen=True)
class SweepPlan:
    """What a sweep tries.

    Attributes
    ----------
    space : dict of str to Range or Values
        By the name of the setting.
    n_trials : int
        Trials at the most, those that fail or are pruned included.
    scoring : {"own", "folds", "validation"}
        Whether a trial's score is the one that the learner cross-validates by itself,
        the mean over folds of the training and validation rows, or that on the
        validation rows of one fit to the training rows.
    n_folds : int
        Of "folds".
    minutes : float or None
        After which no more trial begins.
    seed : int
        Of the search; the data split and the training have the problem's. It fixes
        which trials are tried where one worker tries them; of several, each asks when
        it is free.
    """

    space: Mapping[str, Range | Values]
    n_trials: int = 30
    scoring: str = "folds"
    n_folds: int = 3
    minutes: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what is out of range."""
        if self.n_trials < 1:
            raise ValueError(f"A sweep needs one trial at least, got {self.n_trials}.")
        if self.scoring not in SCORINGS:
            raise ValueError(
                f"Trials are scored by {', '.join(SCORINGS)}; got {self.scoring!r}."
            )
        if self.n_folds < 2:
            raise ValueError(f"Folds are two at least, got {self.n_folds}.")
        if self.minutes is not None and self.minutes <= 0:
            raise ValueError(f"Minutes must be above 0, got {self.minutes}.")

    def check(self, learner: str, task: str) -> None:
        """Raise ValueError unless the learner has the settings and allows the values.

        A model from elsewhere is not trained, so it has no sweep.
        """
        spec = find_spec(learner)
        if spec is None:
            raise ValueError("A model from elsewhere is not trained here.")
        if self.scoring == "own" and not spec.scores_itself:
            raise ValueError(
                f"{spec.title} cross-validates no score of its own that its training "
                "changes; score trials by folds or by the validation rows."
            )
        check_space(spec, task, self.space)

    def to_json(self) -> str:
        """Write it as JSON."""
        plain: dict[str, Any] = {**vars(self), "space": to_plain(self.space)}
        return json.dumps(plain)

    @classmethod
    def from_json(cls, text: str) -> "SweepPlan":
        """Read what ``to_json`` wrote, of this version or of one before."""
        plain = json.loads(text)
        plain.pop("batch", None)  # trials that once trained as one
        return cls(**{**plain, "space": from_plain(plain["space"])})


def presets(learner: str) -> dict[str, Preset]:
    """Return the search spaces that are proposed for a learner, by name."""
    find_spec(learner)  # or refuse the key
    return import_module(f"treelab.learners.search_spaces.{learner}").PRESETS


__all__ = ["SCORINGS", "Space", "SweepPlan", "presets"]
