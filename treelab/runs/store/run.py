"""A run's record in the store: what was asked, its state, its results."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from treelab.data.problem import Problem
from treelab.evaluation.metrics import TITLES, headline
from treelab.learners.common.origin import Origin
from treelab.learners.registry import IMPORTED
from treelab.runs.store.workers import ProcessId
from treelab.trees.constraints import Constraints
from treelab.trees.losses import PARAMETERS, SQUARED_ERROR, Loss, as_loss

STATES = ("queued", "running", "done", "stopped", "failed", "interrupted", "paused")
FIRST_ESTIMATE = 0.05  # of the epochs, before which no time left is estimated
FINISHED = frozenset(STATES[2:])  # nobody trains them any more
RESUMABLE = frozenset(STATES[4:])
SAVING = "saving"  # the stage of a run whose model was made of another's, not trained
_AS_JSON = ("settings", "problem", "metrics", "summary")  # columns that hold it
_FLAGS = ("has_model", "stop_requested", "pause_requested", "is_private")


@dataclass(frozen=True)
class Run:
    """One training: what was asked, its progress and its results.

    Times are seconds since 1970. What is not known yet is None or empty.
    """

    # The id names the run in addresses and folders; the title is for people.
    id: str
    title: str
    learner: str  # key of the learner
    settings: dict[str, Any]  # all settings of the training, by name
    problem: Problem  # table, target, columns, task, and how rows are split
    device: str  # what was asked for: "auto", "cpu", "cuda" or "cuda:N"
    state: str  # one of ``STATES``
    created: float
    started: float | None = None
    finished: float | None = None
    epoch: float = 0.0  # epochs finished at the last report, preparation included
    max_epochs: int = 0  # 0 until the first report
    stage: str = ""  # stage of the training at the last report
    # When the run first reported, and the epochs finished then.
    first_report: float | None = None
    first_epoch: float | None = None
    # Scores by split: ``{"train": {...}, "valid": {...}, "test": {...}}``.
    metrics: dict[str, dict[str, float]] = field(default_factory=dict)
    # What the model is and what it took: ``leaves``, ``depth``, ``seconds``,
    # ``origin``, ...
    summary: dict[str, Any] = field(default_factory=dict)
    error: str = ""  # one sentence, when the run failed or was interrupted
    # Whether it ended with a model and all that is known of it. One that was cut off
    # between the two has none: it ends again with both once it is resumed.
    has_model: bool = False
    stop_requested: bool = False  # whether somebody asked the run to stop
    # Id of the run that it repeats on another data split, "" for none.
    repeat_of: str = ""
    pause_requested: bool = False  # whether that stop is a pause
    attempts: int = 0  # how often its training was begun or taken up again
    seconds_before: float = 0.0  # from start to end of the attempts before the last
    user: str = ""  # who started it, "" where nobody signs in
    is_private: bool = False  # whether only that user and admins see it
    machine: str = ""  # the machine that trains it, "" for this one and for none

    @classmethod
    def from_row(cls, row: Any) -> "Run":
        """Read a run from its row in the database."""
        *stored, _ = fields(cls)  # all but the machine have columns of their names
        own = {each.name: row[each.name] for each in stored}
        own |= {name: json.loads(own[name]) for name in _AS_JSON}
        own |= {name: bool(own[name]) for name in _FLAGS}
        own["has_model"] &= bool(own["summary"])
        problem = Problem.from_dict(own.pop("problem"))
        machine = ""
        if row["state"] == "running":
            owner = ProcessId.parse(row["owner"])
            machine = "" if owner.is_local else owner.host
        return cls(**own, problem=problem, machine=machine)

    @property
    def is_finished(self) -> bool:
        """Whether the run has ended, in whatever state."""
        return self.state in FINISHED

    @property
    def can_resume(self) -> bool:
        """Whether its training can be taken up again, from where it was if possible.

        A model from elsewhere, or made of another run's by hand, was not trained: its
        learner would give another.
        """
        is_trained = self.learner != IMPORTED and self.stage != SAVING
        return self.state in RESUMABLE and is_trained

    @property
    def way_to_model(self) -> str:
        """What to do for a model, in a sentence; "" where it has one, or trains."""
        if self.has_model or not self.is_finished or self.learner == IMPORTED:
            return ""
        if self.stage == SAVING:
            return "Make it again from the run that it was made of."
        return f"{'Resume it, or t' if self.can_resume else 'T'}rain it again."

    @property
    def short_title(self) -> str:
        """Its title without the name of its table."""
        return self.title.removesuffix(f" · {self.problem.table_name}")

    @property
    def table_ids(self) -> set[str]:
        """Ids of the tables that it needs: its own, and that of clusters."""
        return {self.problem.table_id, self.problem.origin} - {""}

    @property
    def constraints(self) -> Constraints:
        """What its learner has to keep."""
        return Constraints.read(self.settings.get("constraints"))

    @property
    def follows_paper(self) -> bool:
        """Whether it is trained by its paper's recipe in place of ours."""
        return self.settings.get("recipe") == "paper"

    @property
    def fitted_split(self) -> str:
        """Rows that its model was fitted to: "train", or "train+valid" together."""
        return self.summary.get("fitted", "train")

    @property
    def loss(self) -> Loss | None:
        """The loss it is trained for; None for the squared error and for classes.

        Huber's is in standard deviations of the target until the training is done.
        """
        if "loss" in self.summary:
            return as_loss(self.summary["loss"])
        name = self.settings.get("loss", SQUARED_ERROR.name)
        if self.problem.task != "regression" or name == SQUARED_ERROR.name:
            return None
        setting, default = PARAMETERS.get(name, ("", 0.0))
        return Loss.of_setting(name, self.settings.get(setting, default))

    @property
    def headline(self) -> str:
        """Key of the score by which it is compared with runs of the same loss."""
        return headline(self.problem.task, self.loss)

    @property
    def held_out_title(self) -> str:
        """Name of the score on held-out rows by which a tree's size is chosen.

        Where errors have costs it is what a tree saves; runs from before that was so
        do not have it in their summary.
        """
        return self.summary.get("held_out_title", TITLES[self.headline])

    @property
    def origin(self) -> Origin | None:
        """How the model came about; None for clusters and models from elsewhere."""
        stored = self.summary.get("origin")
        return None if stored is None else Origin.from_dict(stored)

    @property
    def provenance(self) -> str:
        """How the model came about, in sentences; "" where that is unknown."""
        if self.origin is not None:
            return str(self.origin)
        return self.summary.get("provenance", "")

    @property
    def elapsed(self) -> float:
        """Seconds of training, to now while it runs; 0 before the start."""
        if self.started is None:
            return self.seconds_before
        last = (self.finished or time.time()) - self.started
        return self.seconds_before + max(last, 0.0)

    @property
    def progress(self) -> float:
        """Fraction of ``max_epochs`` that is done, in [0, 1]; 1 once finished."""
        if self.is_finished and not self.can_resume:
            return 1.0
        return min(self.epoch / self.max_epochs, 1.0) if self.max_epochs else 0.0

    @property
    def remaining(self) -> float | None:
        """Seconds to the last epoch at the pace so far, None where that is unknown.

        Early stopping often ends a training before that. What comes before the first
        report, such as growing first trees, is not repeated and does not count; the
        first epochs take longer, so they say nothing.
        """
        if self.state != "running" or self.progress < FIRST_ESTIMATE:
            return None
        if self.first_report is None or self.first_epoch is None:
            return None
        done = self.epoch - self.first_epoch
        if done < FIRST_ESTIMATE * self.max_epochs:
            return None
        passed = max(time.time() - self.first_report, 0.0)
        return passed * max(self.max_epochs - self.epoch, 0.0) / done


def shared_headline(runs: Sequence[Run]) -> str:
    """Return the score by which runs compare: of their loss, where they share one."""
    if len({run.loss for run in runs}) == 1:
        return runs[0].headline
    return headline(runs[0].problem.task)
