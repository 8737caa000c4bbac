"""What a sweep's trial scores: its settings, fitted to rows and scored on others."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from optuna import TrialPruned
from optuna.trial import BaseTrial
from sklearn.model_selection import KFold, StratifiedKFold

from treelab.data.split import JOINED, DataSplit
from treelab.evaluation import metrics
from treelab.learners.common.memo import Memo
from treelab.runs.jobs.model_facts import model_size
from treelab.runs.store.run import Run
from treelab.runs.sweeps.batches import (
    batches,
    trains_batches,
    trial_estimator,
    trial_settings,
)
from treelab.runs.sweeps.plan import SweepPlan
from treelab.training.events import Callback, Progress
from treelab.trees.pruning.size_path import SizePath

MEMO_CELLS = 1_000_000  # of a table whose folds are held from trial to trial

Watch = Callable[[float], bool]
"""Called with the fraction of a trial that is done; True ends the trial."""


@dataclass
class _Tried:
    """A trial that is being scored."""

    trial: BaseTrial
    settings: dict[str, Any]
    scores: list[float] = field(default_factory=list)
    sizes: list[dict] = field(default_factory=list)
    seconds: float = 0.0
    is_pruned: bool = False

    def note(self) -> float:
        """Note its size, its time, how scores spread; return their mean."""
        self.trial.set_user_attr("seconds", self.seconds)
        for fact in self.sizes[0].keys() & {"leaves", "depth"}:
            mean = float(np.mean([size[fact] for size in self.sizes]))
            self.trial.set_user_attr(fact, mean)
        if len(self.scores) > 1:
            error = float(np.std(self.scores, ddof=1) / math.sqrt(len(self.scores)))
            self.trial.set_user_attr("standard_error", error)
        return float(np.mean(self.scores))


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
    _memos: dict[int, Memo] = field(default_factory=dict)

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
        score = self.score_batch([trial], [drawn], watch)[0]
        if score is None:
            raise TrialPruned
        return score

    def score_batch(
        self,
        trials: Sequence[BaseTrial],
        drawn: Sequence[dict[str, Any]],
        watch: Watch,
    ) -> list[float | None]:
        """Return what ``score`` does, of trials that train as one; None where pruned.

        See ``batches``; of several trials the time is each one's fraction of theirs.
        """
        tried = [
            _Tried(trial, trial_settings(self.run, own))
            for trial, own in zip(trials, drawn)
        ]
        parts = list(self._parts())
        for part, (fit, held_out) in enumerate(parts):
            going_on = [own for own in tried if not own.is_pruned]
            if not going_on:
                break
            watched = _Part(watch, part, len(parts))
            began = time.monotonic()
            measured = self._measure(going_on, part, fit, held_out, watched)
            seconds = (time.monotonic() - began) / len(going_on)
            for own, (score, size) in zip(going_on, measured):
                own.scores.append(score)
                own.sizes.append(size)
                own.seconds += seconds
                own.trial.report(float(np.mean(own.scores)), part)
            if watched.stopped:
                break
            if part + 1 < len(parts):
                for own in going_on:
                    own.is_pruned = own.trial.should_prune()
        return [None if own.is_pruned else own.note() for own in tried]

    def batches(self, drawn: Sequence[dict[str, Any]]) -> list[list[int]]:
        """Group trials that train as one batch; return their places."""
        (X, _), _ = next(self._parts())
        return batches(self.run, drawn, len(X))

    def _measure(
        self,
        tried: Sequence[_Tried],
        part: int,
        fit: tuple,
        held_out: tuple,
        callback: Callback,
    ) -> list[tuple[float, dict]]:
        """Fit trials to some rows; return the score and the size of each."""
        estimators = [trial_estimator(self.run, own.settings) for own in tried]
        kind, more = type(estimators[0]), {"callbacks": [callback]}
        if not trains_batches(self.run):
            for estimator in estimators:
                estimator.fit(*fit, **more)
        elif self.plan.scoring == "own":
            found = kind.cross_validated_batch(
                estimators, *fit, **more, memo=self._memo(part, *fit)
            )
            return [(_measured(score), {"leaves": leaves}) for score, leaves in found]
        else:
            kind.fit_batch(estimators, *fit, **more, memo=self._memo(part, *fit))
        return [
            (self._score_of(each, held_out), model_size(each.model_))
            for each in estimators
        ]

    def _memo(self, part: int, X, y) -> Memo:
        """Return what trials share on these rows, held from trial to trial if small."""
        if X.size > MEMO_CELLS:
            return Memo()
        return self._memos.setdefault(part, Memo())

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
