"""A sweep's study: Optuna's record of its trials, a file in the run's folder.

The file is a journal to which lines are added, so that a killed worker loses the trial
at which it was and no other. Several workers may try at once, and pages may read while
they write.
"""

import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import optuna
import pandas as pd
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from treelab.learners.common.search_space import Range, Values
from treelab.runs.store.process import ProcessId
from treelab.runs.store.states import SILENT_SECONDS

JOURNAL = "sweep.log"
STATES = {
    TrialState.COMPLETE: "done",
    TrialState.PRUNED: "pruned",
    TrialState.FAIL: "failed",
    TrialState.RUNNING: "running",
    TrialState.WAITING: "queued",
}
ENDED = ("done", "pruned", "failed")
PROCESS = "process"  # of the process that is at a trial
SEEN = "seen"  # when that process last said so, in seconds since 1970
JUST_BEGUN = timedelta(seconds=20)
FACTS = ("leaves", "depth", "seconds", "error", "standard_error")
"""What is noted of a trial beside its settings and its score."""

optuna.logging.set_verbosity(optuna.logging.WARNING)


def open_study(folder: Path, n_startup: int = 5, seed: int = 0) -> Study:
    """Open a sweep's study, or begin it.

    Parameters
    ----------
    folder : Path
        Of the run.
    n_startup : int, default=5
        Trials that are drawn at random and never pruned, before the search learns.
    seed : int, default=0
    """
    storage = JournalStorage(JournalFileBackend(str(folder / JOURNAL)))
    return optuna.create_study(
        study_name="sweep",
        storage=storage,
        load_if_exists=True,
        direction="maximize",
        sampler=optuna.samplers.TPESampler(
            seed=seed, n_startup_trials=2 * n_startup, constant_liar=True
        ),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=n_startup),
    )


def read_study(folder: Path) -> Study | None:
    """Open a sweep's study to read it; None where no trial was begun."""
    return open_study(folder) if (folder / JOURNAL).is_file() else None


def suggest(trial: Trial, space: Mapping[str, Range | Values]) -> dict[str, Any]:
    """Draw a trial's settings."""
    return {name: _suggest(trial, name, tried) for name, tried in space.items()}


def _suggest(trial: Trial, name: str, tried: Range | Values) -> Any:
    """Draw one setting."""
    if isinstance(tried, Values):
        return trial.suggest_categorical(name, tried.values)
    if tried.is_whole:
        return trial.suggest_int(name, int(tried.low), int(tried.high), log=tried.log)
    return trial.suggest_float(name, tried.low, tried.high, log=tried.log)


def trial_table(study: Study) -> pd.DataFrame:
    """Return a study's trials, one row each, in the order of their numbers.

    Returns
    -------
    DataFrame
        Columns ``trial``, ``state`` (see ``STATES``, or "interrupted"), ``score`` (NaN
        where none; of a pruned trial the mean of what was measured), ``FACTS`` where
        known, and one for each setting.
    """
    trials = study.get_trials(deepcopy=False)
    rows = [
        {"trial": trial.number, "state": _state(trial), "score": _score(trial)}
        | {name: trial.user_attrs.get(name) for name in FACTS}
        | trial.params
        for trial in trials
    ]
    return pd.DataFrame(rows, columns=None if rows else ["trial", "state", "score"])


def _state(trial: FrozenTrial) -> str:
    """Return a trial's state; one that failed without an error was interrupted."""
    interrupted = trial.state is TrialState.FAIL and "error" not in trial.user_attrs
    return "interrupted" if interrupted else STATES[trial.state]


def _score(trial: FrozenTrial) -> float:
    """Return a trial's score, as far as it was measured; NaN for none."""
    if trial.value is not None:
        return trial.value
    if trial.state is TrialState.PRUNED and trial.intermediate_values:
        return trial.intermediate_values[max(trial.intermediate_values)]
    return float("nan")


def best_trial(study: Study) -> FrozenTrial | None:
    """Return the trial of the highest score, of equals that with the fewest leaves."""
    return max(
        _done(study),
        key=lambda trial: (trial.value, -trial.user_attrs.get("leaves", 0)),
        default=None,
    )


def first_error(study: Study) -> str:
    """Return what the first trial that failed said, "" where none did."""
    errors = (t.user_attrs.get("error") for t in study.get_trials(deepcopy=False))
    return next(filter(None, errors), "")


def ask_trial(study: Study, n_trials: int) -> Trial | None:
    """Begin a trial; None where so many have ended or are under way in any process."""
    if n_ended(study) + n_running(study) >= n_trials:
        return None
    trial = study.ask()
    trial.set_user_attr(SEEN, time.time())
    trial.set_user_attr(PROCESS, str(ProcessId.here()))
    # Several may have asked at once: of those the first go on.
    counted = (*ENDED, "running")
    trials = study.get_trials(deepcopy=False)[: trial.number]
    if sum(_state(before) in counted for before in trials) >= n_trials:
        study.tell(trial, state=TrialState.FAIL)
        return None
    return trial


def note_seen(trial: Trial) -> None:
    """Note that the process is alive that is at a trial."""
    with suppress(RuntimeError):  # it has just ended
        trial.set_user_attr(SEEN, time.time())


def n_running(study: Study) -> int:
    """Count the trials that are under way, in any process."""
    return len(study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)))


def n_ended(study: Study) -> int:
    """Count the trials that ended by themselves: done, pruned or failed."""
    trials = study.get_trials(deepcopy=False)
    return sum(_state(trial) in ENDED for trial in trials)


def end_stale_trials(study: Study) -> None:
    """Fail the trials of processes that are gone, and those left by this one."""
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        if not _is_tried(trial):
            # Another may just have ended it.
            with suppress(ValueError):
                study.tell(trial.number, state=TrialState.FAIL)


def _is_tried(trial: FrozenTrial) -> bool:
    """Whether another living process is at a trial; elsewhere, one that says so."""
    named = trial.user_attrs.get(PROCESS)
    if named is None:  # just begun, or by a process that ended at that moment
        began = trial.datetime_start
        return began is not None and datetime.now() - began < JUST_BEGUN
    process = ProcessId.parse(named)
    if not process.is_local:
        return time.time() - trial.user_attrs.get(SEEN, 0) < SILENT_SECONDS
    return process != ProcessId.here() and process.is_alive()


def setting_importance(study: Study) -> dict[str, float]:
    """Return how much of the differences in score each setting makes, by name.

    Optuna's estimate (PED-ANOVA), from trials that are done; empty where all of them
    have the same score.
    """
    scores = {trial.value for trial in _done(study)}
    if len(scores) < 2:
        return {}
    evaluator = optuna.importance.PedAnovaImportanceEvaluator()
    return optuna.importance.get_param_importances(study, evaluator=evaluator)


def _done(study: Study) -> list[FrozenTrial]:
    """List the trials that came to an end."""
    return study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
