"""What a sweep's trial scores: its settings, fitted to rows and scored on others."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna import TrialPruned
from optuna.trial import BaseTrial
from sklearn.model_selection import KFold, StratifiedKFold

from treelab.data.split import JOINED, DataSplit
from treelab.evaluation import metrics
from treelab.learners.registry import complete_settings, make_estimator
from treelab.runs.jobs.model_facts import model_size
from treelab.runs.store.run import Run
from treelab.runs.sweeps.plan import SweepPlan
from treelab.training.events import Progress
from treelab.trees.pruning import SizePath

Watch = Callable[[float], bool]
"""Called with the fraction of a trial that is done; True ends the trial."""


def trial_settings(run: Run, drawn: dict[str, Any]) -> dict[str, Any]:
    """Return all settings of a trial that drew some."""
    return complete_settings(run.learner, run.problem.task, {**run.settings, **drawn})


@dataclass
class TrialScorer:
    """Fits and scores trials, in whatever process.

    Attributes
    ----------
    run : Run
    plan : SweepPlan
    split : DataSplit
    """

    run: Run
    plan: SweepPlan
    split: DataSplit

    def score(self, trial: BaseTrial, drawn: dict[str, Any], watch: Watch) -> float:
        """Return a trial's mean score; note its size, its time, how scores spread.

        Where ``watch`` ends it, the score is of what was fitted so far.

        Raises
        ------
        TrialPruned
            If it is hopeless.
        ValueError, ArithmeticError
            If it cannot be fitted.
        """
        settings = trial_settings(self.run, drawn)
        parts = list(self._parts())
        scores, sizes, seconds = [], [], 0.0
        for number, (fit, held_out) in enumerate(parts):
            part = _Part(watch, number, len(parts))
            estimator, began = self._estimator(settings), time.monotonic()
            estimator.fit(*fit, callbacks=[part])
            scores.append(self._score_of(estimator, held_out))
            sizes.append(model_size(estimator.model_))
            seconds += time.monotonic() - began
            trial.report(float(np.mean(scores)), number)
            if part.stopped:
                break
            if number + 1 < len(parts) and trial.should_prune():
                raise TrialPruned
        trial.set_user_attr("seconds", seconds)
        for fact in sizes[0].keys() & {"leaves", "depth"}:
            trial.set_user_attr(fact, float(np.mean([size[fact] for size in sizes])))
        if len(scores) > 1:
            error = float(np.std(scores, ddof=1) / math.sqrt(len(scores)))
            trial.set_user_attr("standard_error", error)
        return float(np.mean(scores))

    def _estimator(self, settings: dict[str, Any]) -> Any:
        """Build the untrained estimator of a trial's settings."""
        return make_estimator(
            self.run.learner,
            self.run.problem.task,
            settings,
            random_state=self.run.problem.seed,
            device=self.run.device,
        )

    def _score_of(self, estimator: Any, held_out: tuple) -> float:
        """Return the headline score of a fitted estimator: macro F1, or R2."""
        if self.plan.scoring == "own":
            path = getattr(estimator, "path_", None)
            score = math.nan
            if isinstance(path, SizePath):
                score = float(path.scores["score"].iloc[path.chosen])
            return _measured(score)
        X, y = held_out
        found = metrics.scores(self.run.problem.task, y, estimator.predict(X))
        return found["r2" if self.run.problem.task == "regression" else "macro_f1"]

    def _parts(self):
        """Yield the rows to fit and the rows to score, as pairs of (X, y).

        A learner's own score holds rows out by itself.
        """
        if self.plan.scoring == "validation":
            yield self.split.rows("train"), self.split.rows("valid")
            return
        X, y = self.split.rows(JOINED)
        if self.plan.scoring == "own":
            yield (X, y), (X, y)
            return
        kind = KFold if self.run.problem.task == "regression" else StratifiedKFold
        folds = kind(self.plan.n_folds, shuffle=True, random_state=self.plan.seed)
        for fit, held_out in folds.split(X, y):
            yield (
                (X.iloc[fit], y.iloc[fit]),
                (X.iloc[held_out], y.iloc[held_out]),
            )


@dataclass
class _Part:
    """Callback of one of a trial's fits; remembers whether it was to stop."""

    watch: Watch
    number: int
    n_parts: int
    stopped: bool = False

    def __call__(self, report: Progress) -> bool:
        """Say how much of the trial is done."""
        done = min(report.total_epoch / max(report.max_epochs, 1), 1.0)
        self.stopped |= self.watch((self.number + done) / self.n_parts)
        return self.stopped


def _measured(score: float) -> float:
    """Return the score that a learner cross-validated by itself, if it has one."""
    if math.isnan(score):
        raise ValueError(
            "With these settings the learner cross-validates no score of its "
            "own; score trials by folds."
        )
    return score
