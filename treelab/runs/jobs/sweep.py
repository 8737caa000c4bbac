"""A sweep: the run of a learner whose settings are searched before it is trained."""

import math
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from optuna import TrialPruned
from optuna.study import Study
from optuna.trial import Trial, TrialState

from treelab.data.problem import Problem
from treelab.data.split import JOINED, DataSplit, Rows
from treelab.data.split_by import folds_by
from treelab.evaluation import metrics
from treelab.evaluation.comparison import cost_saved
from treelab.learners.registry import find_spec
from treelab.runs.jobs.fit import (
    Fitted,
    check_is_ours,
    fit_learner,
    fit_rows,
    model_size,
    run_estimator,
)
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore, create_like
from treelab.runs.store.workers import heartbeat
from treelab.runs.sweeps import (
    SweepPlan,
    ask_trial,
    best_trial,
    end_stale_trials,
    enqueue,
    first_error,
    is_trial_left,
    n_ended,
    n_running,
    note_seen,
    open_study,
    read_study,
    seconds_searched,
    seed_next_trial,
    suggest,
    too_high,
    trial_settings,
)
from treelab.training.events import Callback, Progress, notify
from treelab.trees.pruning import SizePath
from treelab.trees.words import counted

SEARCH = "search"  # the stage before the training
WAIT_SECONDS = 0.5  # between two looks at what others do
SEEN_SECONDS = 10.0  # between two notes that a trial is under way


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

    All trials have the settings. ValueError if the learner does not have one, or a
    value is out of range.
    """
    plan.check(learner, problem.task)
    spec = find_spec(learner)
    name = spec.title if spec is not None else learner
    title = title or f"{name} sweep · {problem.table_name}"
    run_id = store.create(
        learner, settings, problem, device=device, title=title, is_background=True
    )
    store.add_plan(run_id, "sweep", plan.to_json())
    return run_id


def create_trial_run(store: RunStore, run: Run, settings: dict[str, Any]) -> str:
    """Create the run that a trial's settings alone give; return its id."""
    return create_like(store, run, f"Trial of {run.title}", settings=settings)


def fit_sweep(store: RunStore, run: Run, callbacks: Sequence[Callback]) -> Fitted:
    """Search the settings that score best, then train the run with them.

    What was tried before the run was interrupted is not tried again. Stopped while it
    searches, it trains with the best settings found so far. ValueError if no trial came
    to an end: what the first one said.
    """
    text = store.plan(run.id, "sweep")
    if text is None:
        raise ValueError(f"The run {run.title!r} has no plan of a sweep.")
    plan = SweepPlan.from_json(text)
    split = run.problem.split(store.table(run.problem.table_id))
    folder = store.folder(run.id)
    study = open_study(folder)
    search = Search(run, plan, split, study, callbacks)
    search.run_trials()
    best = best_trial(study)
    if best is None:
        raise ValueError(first_error(study) or "No trial came to an end.")
    chosen = replace(run, settings=trial_settings(run, best.params))
    check_is_ours(store, run.id, run.attempts)
    store.set_settings(run.id, chosen.settings)
    fitted = fit_learner(store, chosen, [search.last_report])
    score = {
        "own": "cross-validated score",
        "folds": f"mean score over {plan.n_folds} folds",
        "validation": "validation score",
    }[plan.scoring]
    n_trials = n_ended(study)
    sentence = (
        f"Settings chosen by a sweep of {counted(n_trials, 'trial')}: the "
        f"highest {score}, {best.value:.3f}{too_high(n_trials)}."
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
    """Try a trial of a sweep that another process runs.

    Runs that wait go first. Who helps draws by a seed of its own, so the seed of a
    sweep does not fix its trials where several try. ``auto_device`` is what "auto" and
    "cuda" mean here; ``should_abort`` returns True once the process has to end: the
    trial was not tried then. Returns whether there was one to try.
    """
    text, folder = store.plan(run_id, "sweep"), store.folder(run_id)
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
    with heartbeat(partial(note_seen, trial), SEEN_SECONDS):
        Search(run, plan, split, study, [watch]).try_trial(trial)
    return True


@dataclass
class Search:
    """The trials of a sweep, one by one; other processes may try beside it.

    Callbacks are called at each report of each trial, as progress; True stops the
    search, which is ``stopped`` then.
    """

    run: Run
    plan: SweepPlan
    split: DataSplit
    study: Study
    callbacks: Sequence[Callback]
    stopped: bool = False
    _began: float = field(default_factory=time.monotonic)
    _before: float = 0.0  # seconds of the search before it was interrupted

    def run_trials(self) -> None:
        """Try until the plan's trials or minutes are over, or a stop is asked for.

        The first trial has the run's own settings where the space holds them. Minutes
        count from the first attempt on, those between an interruption and the next
        attempt left out.
        """
        self._before = seconds_searched(self.study)
        end_stale_trials(self.study)
        own, space = self.run.settings, self.plan.space
        defaults = {name: own[name] for name in space if own.get(name) in space[name]}
        while not self._is_over():
            if is_trial_left(self.study, self.plan.n_trials):
                enqueue(self.study, defaults)
            seed_next_trial(self.study, self.plan.seed)
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
        minutes = (self._before + time.monotonic() - self._began) / 60
        return self.stopped or minutes >= (self.plan.minutes or math.inf)

    def try_trial(self, trial: Trial) -> None:
        """Train and score a trial, and tell the study.

        One that fails does not end the sweep.
        """
        number, has_ended = n_ended(self.study), False
        try:
            self._report(number)
            score = self._score(trial, suggest(trial, self.plan.space), number)
            if not self.stopped:  # trained by halves, its score says nothing
                has_ended = True
                self._tell(trial, score)
        except TrialPruned:
            has_ended = True
            self._tell(trial, state=TrialState.PRUNED)
        except (ValueError, ArithmeticError) as error:
            trial.set_user_attr("error", str(error).split("\n")[0])
        finally:  # also where the search or the process ends: it was not tried
            if not has_ended:
                self._tell(trial, state=TrialState.FAIL)

    def _tell(
        self, trial: Trial, score: float | None = None, state: TrialState | None = None
    ) -> None:
        """Tell the study how a trial ended."""
        # One that looked abandoned to the search has ended by now.
        self.study.tell(trial, score, state=state, skip_if_finished=True)

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

    def last_report(self, report: Progress) -> bool:
        """Pass on a report of the training after the search, as of its last trial.

        The stop that ended the search does not end the training as well.
        """
        own, n_trials = max(report.max_epochs, 1), self.plan.n_trials
        moved: Callable[..., Progress] = replace
        passed = moved(
            report,
            epochs_before=report.epochs_before + own * n_trials,
            max_epochs=own * (n_trials + 1),
        )
        return notify(self.callbacks, passed) and not self.stopped

    def _score(self, trial: Trial, drawn: dict[str, Any], n_before: int) -> float:
        """Return a trial's mean score; note its size, its time, how scores spread.

        Where the search is stopped, the score is of what was fitted so far. TrialPruned
        if it is hopeless. ValueError or ArithmeticError if it cannot be fitted.
        """
        tried = replace(self.run, settings=trial_settings(self.run, drawn))
        parts = list(self._parts())
        scores, sizes, seconds = [], [], 0.0
        for number, (fit, held_out) in enumerate(parts):

            def watch(report: Progress, number: int = number) -> bool:
                done = min(report.total_epoch / max(report.max_epochs, 1), 1.0)
                return self._report(n_before + (number + done) / len(parts))

            estimator, began = run_estimator(tried), time.monotonic()
            fit_rows(estimator, fit, None, [watch], self.split.groups)
            scores.append(self._score_of(estimator, held_out))
            if math.isnan(scores[-1]):
                raise ValueError(
                    f"A trial has no score on {counted(len(held_out.y), 'row')} that "
                    "one value predicts without an error; score trials by other rows, "
                    "or choose another loss."
                )
            sizes.append(model_size(estimator.model_))
            seconds += time.monotonic() - began
            trial.report(float(np.mean(scores)), number)
            if self.stopped:
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

    def _score_of(self, estimator: Any, held_out: Rows) -> float:
        """Return the score of a fitted estimator; see ``trial_title``."""
        if self.plan.scoring == "own":
            path = getattr(estimator, "path_", None)
            score = math.nan
            if isinstance(path, SizePath):
                score = float(path.scores["score"].iloc[path.chosen])
            if math.isnan(score):
                raise ValueError(
                    "With these settings the learner cross-validates no score of its "
                    "own; score trials by folds."
                )
            return score
        X, y, weight = held_out
        loss = getattr(estimator.model_, "loss", None)
        if loss is not None:
            truth = np.asarray(y, dtype=float)
            return loss.score(estimator.predict(X), truth, weight)
        asked, predicted = self.run.constraints, estimator.predict(X)
        if asked.class_costs:
            classes = estimator.model_.classes
            return cost_saved(asked, classes, y, predicted, weight)
        found = metrics.scores(
            self.run.problem.task, y, predicted, sample_weight=weight
        )
        return found["r2" if self.run.problem.task == "regression" else "macro_f1"]

    def _parts(self):
        """Yield the rows to fit and the rows to score, pairs of ``Rows``.

        A learner's own score holds rows out by itself.
        """
        # Here, as it takes a moment, and pages import this module to be shown.
        from sklearn.model_selection import KFold, StratifiedKFold

        if self.plan.scoring == "validation":
            yield self.split.rows("train"), self.split.rows("valid")
            return
        rows = self.split.rows(JOINED)
        if self.plan.scoring == "own":
            yield rows, rows
            return
        n_folds, seed, problem = self.plan.n_folds, self.plan.seed, self.run.problem
        if problem.split_by in ("group", "time"):
            by = self.split.by.loc[rows.X.index]
            folds = folds_by(problem.split_by, by, n_folds, seed)
        else:
            kind, what, most = KFold, "rows", len(rows.y)
            if problem.task != "regression":
                kind, what = StratifiedKFold, "rows of a class"
                most = int(rows.y.value_counts().max())
            if most < n_folds:
                raise ValueError(
                    f"{n_folds} folds need at least {n_folds} {what}; there are {most}."
                    " Take fewer folds, or score by the validation rows."
                )
            dealt = kind(n_folds, shuffle=True, random_state=seed)
            folds = dealt.split(rows.X, rows.y)
        for fit, held_out in folds:
            yield rows.take(fit), rows.take(held_out)
