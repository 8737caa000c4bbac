"""A sweep: the run of a learner whose settings are searched before it is trained."""

import math
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from optuna import TrialPruned
from optuna.study import Study
from optuna.trial import Trial, TrialState

from treelab.data.problem import Problem
from treelab.learners.registry import find_spec
from treelab.runs.jobs.fit import Fitted, fit_learner
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore, create_like
from treelab.runs.store.workers import Heartbeat
from treelab.runs.sweeps import (
    SweepPlan,
    TrialScorer,
    ask_trial,
    best_trial,
    end_stale_trials,
    first_error,
    n_ended,
    n_running,
    note_seen,
    open_study,
    read_study,
    suggest,
    trial_settings,
)
from treelab.training.events import Callback, Progress, notify
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
    store.add_plan(run_id, "sweep", plan.to_json())
    return run_id


def create_trial_run(store: RunStore, run: Run, settings: dict[str, Any]) -> str:
    """Create the run that a trial's settings alone give; return its id."""
    return create_like(store, run, f"Trial of {run.title}", settings=settings)


def fit_sweep(store: RunStore, run: Run, callbacks: Sequence[Callback]) -> Fitted:
    """Search the settings that score best, then train the run with them.

    What was tried before the run was interrupted is not tried again. Stopped while it
    searches, it trains with the best settings found so far.

    Raises
    ------
    ValueError
        If no trial came to an end: what the first one said.
    """
    text = store.plan(run.id, "sweep")
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
    chosen = replace(run, settings=trial_settings(run, best.params))
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
    """Try a trial of a sweep that another process runs.

    Runs that wait go first. Who helps draws by a seed of its own, so the seed of a
    sweep does not fix its trials where several try.

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
    with Heartbeat(partial(note_seen, trial), SEEN_SECONDS):
        Search(run, plan, split, study, [watch]).try_trial(trial)
    return True


def begin_search(study: Study, run: Run, plan: SweepPlan) -> None:
    """End what dead processes tried; let the run's own settings be the first trial."""
    end_stale_trials(study)
    defaults = {
        name: run.settings[name]
        for name, tried in plan.space.items()
        if run.settings.get(name) in tried
    }
    study.enqueue_trial(defaults, skip_if_exists=True)


@dataclass
class Search(TrialScorer):
    """The trials of a sweep, one by one; other processes may try beside it.

    Attributes
    ----------
    run, plan, split
        See ``TrialScorer``.
    study : Study
    callbacks : sequence of callable
        Called at each report of each trial, as progress; True stops the search.
    stopped : bool
        Whether the search was asked to stop.
    """

    study: Study
    callbacks: Sequence[Callback]
    stopped: bool = False
    _began: float = field(default_factory=time.monotonic)

    def run_trials(self) -> None:
        """Try until the plan's trials or minutes are over, or a stop is asked for."""
        begin_search(self.study, self.run, self.plan)
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
        """Train and score a trial, and tell the study.

        One that fails does not end the sweep.
        """
        number, has_ended = n_ended(self.study), False
        try:
            self._report(number)
            drawn = suggest(trial, self.plan.space)
            score = self.score(trial, drawn, lambda done: self._report(number + done))
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
