"""What a sweep tries, and Optuna's record of it, a file in the run's folder."""

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from treelab.evaluation import metrics
from treelab.evaluation.profile import exceeds_chance
from treelab.evaluation.routing import BY_CHANCE
from treelab.learners.common.settings import (
    Preset,
    Range,
    Values,
    check_space,
    from_plain,
    to_plain,
)
from treelab.learners.registry import complete_settings, find_spec
from treelab.runs.store.run import Run
from treelab.runs.store.states import SILENT_SECONDS
from treelab.runs.store.workers import ProcessId

MOST_VALUES = 4  # of a setting that is a number, for each to count by itself
SCORINGS = ("own", "folds", "validation")


@dataclass(frozen=True)
class SweepPlan:
    """What a sweep tries."""

    space: Mapping[str, Range | Values]  # by the name of the setting
    n_trials: int = 30  # trials at the most, those that fail or are pruned included
    # "own", "folds" or "validation": whether a trial's score is the one that the
    # learner cross-validates by itself, the mean over folds of the training and
    # validation rows, or that on the validation rows of one fit to the training rows.
    scoring: str = "folds"
    n_folds: int = 3  # of "folds"
    minutes: float | None = None  # after which no more trial begins
    # Of the search; the data split and the training have the problem's. It fixes which
    # trials are tried where one worker tries them; of several, each asks when it is
    # free.
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
        if self.minutes is not None and not self.minutes > 0:  # nan is none
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
    return import_module(f"treelab.learners.{learner}.settings").PRESETS


# A journal, to which lines are added: a killed worker loses the trial it was at, and no
# other. Several may try at once, and pages may read while they write.
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
N_STARTUP = 5  # trials that are never pruned; twice as many are drawn at random
FACTS = {"n_leaves": "leaves", "tree_depth": "depth"} | {
    name: name for name in ("seconds", "error", "standard_error")
}
"""What is noted of a trial beside its settings and its score, by column; settings of
some learners are called leaves and depth as well."""

optuna.logging.set_verbosity(optuna.logging.WARNING)


def open_study(folder: Path, seed: int = 0) -> Study:
    """Open the study of a sweep in its run's folder, or begin it."""
    storage = JournalStorage(JournalFileBackend(str(folder / JOURNAL)))
    return optuna.create_study(
        study_name="sweep",
        storage=storage,
        load_if_exists=True,
        direction="maximize",
        sampler=_sampler(seed),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=N_STARTUP),
    )


def _sampler(seed: int) -> optuna.samplers.TPESampler:
    """Return what draws settings, by the scores of the trials that have ended."""
    return optuna.samplers.TPESampler(
        seed=seed, n_startup_trials=2 * N_STARTUP, constant_liar=True
    )


def seed_next_trial(study: Study, seed: int) -> None:
    """Fix what the next trial draws by a sweep's seed and the trials that have ended.

    A search that was interrupted so draws what it would have drawn.
    """
    entropy = np.random.SeedSequence([seed, n_ended(study)])
    study.sampler = _sampler(int(entropy.generate_state(1)[0]))


def enqueue(study: Study, params: dict[str, Any]) -> None:
    """Let settings be tried next, unless they wait, or a trial of them has ended.

    One that was interrupted did not try them.
    """
    text = json.dumps(params)  # the journal has lists of what are tuples here
    for trial in study.get_trials(deepcopy=False):
        given = trial.system_attrs.get("fixed_params", trial.params)
        if json.dumps(given) == text and _state(trial) != "interrupted":
            return
    study.enqueue_trial(params)


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


def trial_table(study: Study, run: Run | None = None) -> pd.DataFrame:
    """Return a study's trials, one row each, in the order of their numbers.

    Columns are ``trial``, ``state`` (see ``STATES``, or "interrupted"), ``score`` (NaN
    where none; of a pruned trial the mean of what was measured), ``FACTS`` where known,
    and one for each setting, of ``run`` None where it changed nothing.
    """
    trials = study.get_trials(deepcopy=False)
    rows = [
        {"trial": trial.number, "state": _state(trial), "score": _score(trial)}
        | {column: trial.user_attrs.get(fact) for column, fact in FACTS.items()}
        | (trial.params if run is None else applied(run, trial.params))
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


def too_high(n_trials: int) -> str:
    """Say what the highest score of several trials is worth; "" of one."""
    if n_trials < 2:
        return ""
    return ", likely too high for new rows, as it was chosen for being the highest"


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


def is_trial_left(study: Study, n_trials: int) -> bool:
    """Whether fewer trials have ended or are under way, in any process."""
    return n_ended(study) + n_running(study) < n_trials


def ask_trial(study: Study, n_trials: int) -> Trial | None:
    """Begin a trial; None where so many have ended or are under way in any process."""
    if not is_trial_left(study, n_trials):
        return None
    trial = study.ask()
    trial.set_user_attr(SEEN, time.time())
    trial.set_user_attr(PROCESS, str(ProcessId.here()))
    # Several may have asked at once: of those the first go on.
    begun = (*ENDED, "running")
    trials = study.get_trials(deepcopy=False)[: trial.number]
    if sum(_state(before) in begun for before in trials) >= n_trials:
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


def seconds_searched(study: Study) -> float:
    """Return for how long trials that are done or pruned were tried, in any process.

    Of several at once the time counts once.
    """
    states = (TrialState.COMPLETE, TrialState.PRUNED)
    trials = study.get_trials(deepcopy=False, states=states)
    spans = [(t.datetime_start, t.datetime_complete) for t in trials]
    seconds, until = 0.0, datetime.min
    for start, end in sorted((start, end) for start, end in spans if start and end):
        seconds += max((end - max(start, until)).total_seconds(), 0.0)
        until = max(until, end)
    return seconds


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


def clear_settings(trials: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """Return the settings between whose values scores differ by more than chance.

    ``trials`` are what ``trial_table`` returns; those that are done count. Many numbers
    are taken as thirds, so that the best may lie in the middle, and all settings
    together find one by chance in 5% of sweeps (permutation tests, Bonferroni).
    """
    done, found = trials[trials["state"] == "done"], []
    score = done["score"].to_numpy(np.float64)
    for name in names:
        codes = pd.factorize(done[name].map(str))[0]
        if pd.api.types.is_numeric_dtype(done[name]) and codes.max() >= MOST_VALUES:
            thirds = pd.qcut(done[name], 3, labels=False, duplicates="drop")
            codes = thirds.fillna(-1).to_numpy(np.int64)
        if exceeds_chance(codes.astype(np.int64), score, BY_CHANCE / len(names)):
            found.append(name)
    return found


def _done(study: Study) -> list[FrozenTrial]:
    """List the trials that came to an end."""
    return study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))


def trial_settings(run: Run, drawn: dict[str, Any]) -> dict[str, Any]:
    """Return all settings of a trial that drew some; those that do not apply stay."""
    settings = {**run.settings, **applied(run, drawn)}
    return complete_settings(run.learner, run.problem.task, settings)


def applied(run: Run, drawn: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a trial drew without what changes nothing beside the rest of it."""
    spec, values = find_spec(run.learner), {**run.settings, **drawn}
    known = spec.find(run.problem.task, drawn) if spec else {}
    return {n: drawn[n] for n in drawn if known[n].applies_beside(values)}


def trial_title(run: Run) -> str:
    """Return what a trial's score is called: where errors have costs, what it saves."""
    if run.constraints.class_costs:
        return metrics.COST_SAVED
    return metrics.TITLES[run.headline]
