"""A sweep: the run of a learner whose settings are searched before it is trained."""

import math
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from optuna.study import Study
from optuna.trial import Trial, TrialState

from treelab.data.problem import Problem
from treelab.data.split import DataSplit
from treelab.learners.registry import find_spec
from treelab.runs.jobs.fit import Fitted, fit_learner
from treelab.runs.jobs.heartbeat import Heartbeat
from treelab.runs.jobs.memory import is_out_of_memory
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.runs.sweeps.batches import trial_settings, trials_at_once
from treelab.runs.sweeps.plan import SweepPlan
from treelab.runs.sweeps.study import (
    BATCH,
    Asked,
    ask_trials,
    batch_words,
    best_trial,
    end_stale_trials,
    first_error,
    n_ended,
    n_running,
    note_seen,
    open_study,
    read_study,
    trial_table,
)
from treelab.runs.sweeps.trial_score import TrialScorer
from treelab.training.events import Callback, Progress, notify
from treelab.trees.text.numerals import counted

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
    chosen = replace(run, settings=trial_settings(run, best.params))
    store.set_settings(run.id, chosen.settings)
    ending = Ending(callbacks, plan.n_trials, ignores_stop=search.stopped)
    fitted = fit_learner(store, chosen, [ending])
    score = {
        "own": "cross-validated score",
        "folds": f"mean score over {plan.n_folds} folds",
        "validation": "validation score",
    }[plan.scoring]
    batched = batch_words(trial_table(study))
    sentence = (
        f"Settings chosen by a sweep of {counted(n_ended(study), 'trial')}"
        f"{f' ({batched})' * bool(batched)}: the highest {score}, {best.value:.3f}."
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
    """Try a batch of trials, often one, of a sweep that another process runs.

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
    text, folder = store.sweep(run_id), store.folder(run_id)
    if text is None or read_study(folder) is None:
        return False
    run, plan = store.run(run_id), SweepPlan.from_json(text)
    if auto_device is not None and run.device in ("auto", "cuda"):
        run = replace(run, device=auto_device)
    # Processes that draw from one seed would try the same.
    study = open_study(folder, seed=plan.seed + secrets.randbelow(2**31))
    asked_for = ask_trials(study, plan.space, plan.n_trials, trials_at_once(run, plan))
    if not asked_for:
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
    seen = partial(note_seen, [trial for trial, _ in asked_for])
    with Heartbeat(seen, SEEN_SECONDS):
        Search(run, plan, split, study, [watch]).try_trials(asked_for)
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
class Search:
    """The trials of a sweep, batch by batch; other processes may try beside it.

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

    def __post_init__(self) -> None:
        """Make what scores the trials."""
        self._scorer = TrialScorer(self.run, self.plan, self.split)
        self._untold: dict[int, Trial] = {}

    def run_trials(self) -> None:
        """Try until the plan's trials or minutes are over, or a stop is asked for."""
        begin_search(self.study, self.run, self.plan)
        at_once = trials_at_once(self.run, self.plan)
        while not self._is_over():
            space, n_trials = self.plan.space, self.plan.n_trials
            if asked := ask_trials(self.study, space, n_trials, at_once):
                self.try_trials(asked)
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

    def try_trials(self, asked: Sequence[Asked]) -> None:
        """Train and score trials, those that agree as one batch, and tell the study.

        One that fails does not end the sweep.
        """
        self._untold = {trial.number: trial for trial, _ in asked}
        try:
            for places in self._scorer.batches([drawn for _, drawn in asked]):
                if self.stopped:
                    break
                batch = [asked[place] for place in places]
                if len(batch) > 1:
                    self._mark(batch)
                self._try_batch(batch)
        finally:  # the search or the process ends: what is untold was not tried
            for trial in list(self._untold.values()):
                self._tell(trial, state=TrialState.FAIL)

    def _try_batch(self, batch: Sequence[Asked]) -> None:
        """Train and score trials as one; each alone where that fails."""
        number = n_ended(self.study)
        trials = [trial for trial, _ in batch]
        try:
            self._report(number)
            scores = self._scorer.score_batch(
                trials,
                [drawn for _, drawn in batch],
                lambda done: self._report(number + done * len(batch)),
            )
        except Exception as error:
            expected = isinstance(error, ValueError | ArithmeticError)
            if len(batch) > 1 and (expected or is_out_of_memory(error)):
                for each in batch:
                    self._mark([each])
                    self._try_batch([each])
                return
            if not expected:
                raise
            trials[0].set_user_attr("error", str(error).split("\n")[0])
            self._tell(trials[0], state=TrialState.FAIL)
            return
        for trial, score in zip(trials, scores):
            if score is None:
                self._tell(trial, state=TrialState.PRUNED)
            elif self.stopped:  # trained by halves: its score says nothing
                self._tell(trial, state=TrialState.FAIL)
            else:
                self._tell(trial, score)

    def _mark(self, batch: Sequence[Asked]) -> None:
        """Note of each trial how many train as one with it."""
        for trial, _ in batch:
            trial.set_user_attr(BATCH, len(batch))

    def _tell(
        self, trial: Trial, score: float | None = None, state: TrialState | None = None
    ) -> None:
        """Tell the study how a trial ended."""
        # One that looked abandoned to the search has ended by now.
        self.study.tell(trial, score, state=state, skip_if_finished=True)
        self._untold.pop(trial.number, None)

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
