"""A sweep: the run of a learner whose settings are searched before it is trained."""

import math
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from optuna import TrialPruned
from optuna.study import Study
from optuna.trial import Trial, TrialState
from sklearn.model_selection import KFold, StratifiedKFold

from treelab.data.problem import Problem
from treelab.data.split import JOINED, DataSplit
from treelab.evaluation import metrics
from treelab.learners.registry import complete_settings, find_spec, make_estimator
from treelab.runs.jobs.fit import Fitted, fit_learner
from treelab.runs.jobs.model_facts import model_size
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.runs.sweeps.plan import SweepPlan
from treelab.runs.sweeps.study import (
    ask_trial,
    best_trial,
    end_stale_trials,
    first_error,
    n_ended,
    n_running,
    open_study,
    read_study,
    suggest,
)
from treelab.training.events import Callback, Progress, notify
from treelab.trees.pruning.size_path import SizePath
from treelab.trees.text.numerals import counted

SEARCH = "search"  # the stage before the training
WAIT_SECONDS = 0.5  # between two looks at what others do


def create_sweep(
    store: RunStore,
    learner: str,
    settings: dict[str, Any],
    problem: Problem,
    plan: SweepPlan,
    *,
    device: str = "auto",
    title: str = "",
) -> str:
    """Create the run of a sweep and return its id; see ``RunStore.create``.

    Parameters
    ----------
    store : RunStore
    learner : str
        Key of the learner.
    settings : dict
        What all trials have.
    problem : Problem
    plan : SweepPlan

    Raises
    ------
    ValueError
        If the learner does not have a setting, or a value is out of range.
    """
    plan.check(learner, problem.task)
    spec = find_spec(learner)
    name = spec.title if spec is not None else learner
    title = title or f"{name} sweep · {problem.table_name}"
    run_id = store.create(
        learner, settings, problem, device=device, title=title, is_background=True
    )
    store.add_sweep(run_id, plan.to_json())
    return run_id


def create_trial_run(store: RunStore, run: Run, settings: dict[str, Any]) -> str:
    """Create the run that a trial's settings alone give; return its id."""
    return store.create(
        run.learner,
        settings,
        run.problem,
        device=run.device,
        title=f"Trial of {run.title}",
    )


def fit_sweep(store: RunStore, run: Run, callbacks: Sequence[Callback]) -> Fitted:
    """Search the settings that score best, then train the run with them.

    What was tried before the run was interrupted is not tried again. Stopped while it
    searches, it trains with the best settings found so far.

    Raises
    ------
    ValueError
        If no trial came to an end: what the first one said.
    """
    text = store.sweep(run.id)
    if text is None:
        raise ValueError(f"The run {run.title!r} has no plan of a sweep.")
    plan = SweepPlan.from_json(text)
    split = run.problem.split(store.table(run.problem.table_id))
    folder = store.folder(run.id)
    study = open_study(folder, seed=plan.seed + n_ended(open_study(folder)))
    search = Search(run, plan, split, study, callbacks)
    search.run_trials()
    best = best_trial(study)
    if best is None:
        raise ValueError(first_error(study) or "No trial came to an end.")
    chosen = replace(run, settings=search.settings(best.params))
    store.set_settings(run.id, chosen.settings)
    ending = Ending(callbacks, plan.n_trials, ignores_stop=search.stopped)
    fitted = fit_learner(store, chosen, [ending])
    score = {
        "own": "cross-validated score",
        "folds": f"mean score over {plan.n_folds} folds",
        "validation": "validation score",
    }[plan.scoring]
    sentence = (
        f"Settings chosen by a sweep of {counted(n_ended(study), 'trial')}: the "
        f"highest {score}, {best.value:.3f}."
    )
    return replace(
        fitted,
        notes=(sentence, *fitted.notes),
        measured=fitted.measured | {"sweep_score": float(best.value or 0)},
    )


def help_sweep(
    store: RunStore,
    run_id: str,
    *,
    auto_device: str | None = None,
    should_abort: Callable[[], bool] = lambda: False,
) -> bool:
    """Try one trial of a sweep that another process runs; runs that wait go first.

    Parameters
    ----------
    store : RunStore
    run_id : str
        A run in training.
    auto_device : str, optional
        What "auto" and "cuda" mean here.
    should_abort : callable, optional
        Returns True once the process has to end: the trial was not tried then.

    Returns
    -------
    bool
        Whether there was one to try.
    """
    text, folder = store.sweep(run_id), store.folder(run_id)
    if text is None or read_study(folder) is None:
        return False
    run, plan = store.run(run_id), SweepPlan.from_json(text)
    if auto_device is not None and run.device in ("auto", "cuda"):
        run = replace(run, device=auto_device)
    # Processes that draw from one seed would try the same.
    study = open_study(folder, seed=plan.seed + secrets.randbelow(2**31))
    trial = ask_trial(study, plan.n_trials)
    if trial is None:
        return False
    asked = time.monotonic()
    is_wanted = True

    def watch(report: Progress) -> bool:
        nonlocal asked, is_wanted
        if time.monotonic() - asked > WAIT_SECONDS:
            asked = time.monotonic()
            is_wanted = run_id in store.in_stage(SEARCH) and not store.has_waiting()
        return should_abort() or not is_wanted

    split = run.problem.split(store.table(run.problem.table_id))
    Search(run, plan, split, study, [watch]).try_trial(trial)
    return True


@dataclass
class Search:
    """The trials of a sweep, one after the other; other processes may try beside it.

    Attributes
    ----------
    run : Run
    plan : SweepPlan
    split : DataSplit
    study : Study
    callbacks : sequence of callable
        Called at each report of each trial, as progress; True stops the search.
    stopped : bool
        Whether the search was asked to stop.
    """

    run: Run
    plan: SweepPlan
    split: DataSplit
    study: Study
    callbacks: Sequence[Callback]
    stopped: bool = False
    _began: float = field(default_factory=time.monotonic)

    def settings(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return all settings of a trial that drew some."""
        given = {**self.run.settings, **params}
        return complete_settings(self.run.learner, self.run.problem.task, given)

    def run_trials(self) -> None:
        """Try until the plan's trials or minutes are over, or a stop is asked for."""
        end_stale_trials(self.study)
        defaults = {
            name: self.run.settings[name]
            for name, tried in self.plan.space.items()
            if self.run.settings.get(name) in tried
        }
        self.study.enqueue_trial(defaults, skip_if_exists=True)
        while not self._is_over():
            if trial := ask_trial(self.study, self.plan.n_trials):
                self.try_trial(trial)
            elif n_running(self.study):  # by those who help
                self._report(n_ended(self.study))
                time.sleep(WAIT_SECONDS)
                end_stale_trials(self.study)
            else:
                break

    def _is_over(self) -> bool:
        """Whether the time is over or a stop was asked for."""
        minutes = (time.monotonic() - self._began) / 60
        return self.stopped or minutes >= (self.plan.minutes or math.inf)

    def try_trial(self, trial: Trial) -> None:
        """Train and score a trial; one that fails does not end the sweep."""
        number = n_ended(self.study)
        try:
            self._report(number)
            score = self._score(trial, suggest(trial, self.plan.space), number)
        except TrialPruned:
            self.study.tell(trial, state=TrialState.PRUNED)
        except (ValueError, ArithmeticError) as error:
            trial.set_user_attr("error", str(error).split("\n")[0])
            self.study.tell(trial, state=TrialState.FAIL)
        except BaseException:  # the process ends: the trial was not tried
            self.study.tell(trial, state=TrialState.FAIL)
            raise
        else:
            if self.stopped:  # trained by halves: its score says nothing
                self.study.tell(trial, state=TrialState.FAIL)
            else:
                self.study.tell(trial, score)

    def _score(self, trial: Trial, drawn: dict[str, Any], number: int) -> float:
        """Return a trial's mean score; note its size, its time, how scores spread."""
        settings = self.settings(drawn)
        began = time.monotonic()
        scores: list[float] = []
        sizes: list[dict] = []
        parts = list(self._parts())
        for part, (fit, held_out) in enumerate(parts):
            estimator = make_estimator(
                self.run.learner,
                self.run.problem.task,
                settings,
                random_state=self.run.problem.seed,
                device=self.run.device,
            )
            watch = self._watch(number + part / len(parts), 1 / len(parts))
            if self.plan.scoring == "own" and hasattr(estimator, "cross_validated"):
                score, n_leaves = estimator.cross_validated(*fit, callbacks=[watch])
                scores.append(_measured(score))
                sizes.append({"leaves": n_leaves})
            else:
                estimator.fit(*fit, callbacks=[watch])
                scores.append(self._score_of(estimator, held_out))
                sizes.append(model_size(estimator.model_))
            trial.report(float(np.mean(scores)), part)
            if self.stopped:
                break
            if part + 1 < len(parts) and trial.should_prune():
                raise TrialPruned
        trial.set_user_attr("seconds", time.monotonic() - began)
        for fact in sizes[0].keys() & {"leaves", "depth"}:
            trial.set_user_attr(fact, float(np.mean([size[fact] for size in sizes])))
        if len(scores) > 1:
            error = float(np.std(scores, ddof=1) / math.sqrt(len(scores)))
            trial.set_user_attr("standard_error", error)
        return float(np.mean(scores))

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

    def _watch(self, begun: float, share: float) -> Callback:
        """Return what a trial's fit reports to: the sweep's progress."""

        def watch(report: Progress) -> bool:
            done = report.total_epoch / max(report.max_epochs, 1)
            return self._report(begun + share * min(done, 1.0))

        return watch

    def _report(self, trials: float) -> bool:
        """Report so many trials; return whether to stop."""
        progress = Progress(
            epoch=trials,
            max_epochs=self.plan.n_trials + 1,  # the last one is the training
            train_loss=math.nan,
            valid_loss=math.nan,
            seconds=time.monotonic() - self._began,
            stage=SEARCH,
            is_preparation=True,
        )
        self.stopped |= notify(self.callbacks, progress)
        return self.stopped


def _measured(score: float) -> float:
    """Return the score that a learner cross-validated by itself, if it has one."""
    if math.isnan(score):
        raise ValueError(
            "With these settings the learner cross-validates no score of its "
            "own; score trials by folds."
        )
    return score


@dataclass
class Ending:
    """Passes on the reports of the training after a search, as its last trial.

    Attributes
    ----------
    callbacks : sequence of callable
    n_trials : int
    ignores_stop : bool
        Whether the stop that ended the search does not end the training as well.
    """

    callbacks: Sequence[Callback]
    n_trials: int
    ignores_stop: bool

    def __call__(self, report: Progress) -> bool:
        """Pass a report on, with its progress behind that of the search."""
        own = max(report.max_epochs, 1)
        moved: Callable[..., Progress] = replace
        passed = moved(
            report,
            epochs_before=report.epochs_before + own * self.n_trials,
            max_epochs=own * (self.n_trials + 1),
        )
        return notify(self.callbacks, passed) and not self.ignores_stop
