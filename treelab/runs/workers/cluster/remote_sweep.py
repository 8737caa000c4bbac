"""A sweep on the cluster: the search is here, its trials are tasks there."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

from optuna.study import Study
from optuna.trial import Trial, TrialState

from treelab.runs.jobs.run_one import PROCESS_ENDED
from treelab.runs.jobs.sweep import SEARCH, begin_search
from treelab.runs.store.run import Run
from treelab.runs.sweeps.plan import SweepPlan
from treelab.runs.sweeps.study import (
    ask_trial,
    best_trial,
    first_error,
    n_ended,
    n_running,
    open_study,
    suggest,
)
from treelab.runs.workers.cluster.payload import ABORT, Item, run_payload, table_content
from treelab.runs.workers.cluster.remote_jobs import try_remote
from treelab.runs.workers.cluster.remote_run import RemoteRun
from treelab.runs.workers.cluster.tasks import ClusterTask
from treelab.training.events import Progress

REPORT_SECONDS = 0.5


@dataclass
class _Tried:
    """A trial on the cluster: how much of it is done, whether it was given up."""

    trial: Trial
    done: float = 0.0
    is_pruned: bool = False


class RemoteSweep(RemoteRun):
    """A sweep: trials first, as many at once as there is room; then its training."""

    _is_searching = False
    _study: Study | None = None
    _stopped = False
    _began = 0.0
    _reported = 0.0

    def begin(self) -> None:
        """Begin the search, or go on with it."""
        if self._study is not None:  # the training was lost: what was found stands
            self._train_best()
            return
        self._tried: dict[ClusterTask, _Tried] = {}
        try:
            run = self._store.run(self.run_id)
            self._plan = SweepPlan.from_json(self._store.sweep(self.run_id) or "")
            folder = self._store.folder(self.run_id)
            seed = self._plan.seed + n_ended(open_study(folder))
            self._study = open_study(folder, seed=seed)
            begin_search(self._study, run, self._plan)
        except (LookupError, ValueError, OSError) as error:
            self._fail(error)
        self._began = time.monotonic()
        self._is_searching = True

    @property
    def is_searching(self) -> bool:
        """Whether it searches settings, with tasks for trials and none for itself."""
        return self._is_searching

    @property
    def place(self) -> str:
        """Name the workers of the cluster that are at it, "" for none."""
        if not self._is_searching:
            return super().place
        return ", ".join(sorted({self._place(task) for task in self._tried} - {""}))

    def owns(self, task: ClusterTask) -> bool:
        """Whether a task is this run's."""
        return task in self._tried or super().owns(task)

    def step(self, n_free: int) -> None:
        """Begin trials where there is room, and the training after the last one."""
        if not self._is_searching:
            super().step(n_free)
            return
        study, run = self._study, self._run()
        assert study is not None
        if run is None or run.state != "running":
            self.abort()
            self._end_without_tasks()
            return
        self._report()
        if self._stopped:
            self.abort()
        minutes = (time.monotonic() - self._began) / 60
        if not self._stopped and minutes < (self._plan.minutes or math.inf):
            while n_free > 0 and (trial := ask_trial(study, self._plan.n_trials)):
                self._try(run, trial)
                n_free -= 1
        if not self._tried and not (n_running(study) and not self._stopped):
            if run.pause_requested:
                self._finish("paused")
            elif self._stopped or n_free > 0:
                self._train_best()

    def receive(self, task: ClusterTask, items: Iterable[Item]) -> None:
        """Note the scores of a trial so far, and end it where it is hopeless."""
        if task not in self._tried:
            super().receive(task, items)
            return
        own = self._tried[task]
        for kind, facts in items:
            if kind == "progress":
                own.done = facts["done"]
            elif kind == "part" and not own.is_pruned:
                own.trial.report(facts["score"], facts["part"])
                is_last = facts["part"] + 1 >= self._n_parts
                if not is_last and own.trial.should_prune():
                    own.is_pruned, task.ask = True, ABORT

    def settle(self, task: ClusterTask) -> None:
        """Tell the search what a trial scored; one whose worker was lost counts not."""
        if task not in self._tried:
            super().settle(task)
            return
        self._tell(self._tried[task], task)
        del self._tried[task]
        self._tasks.drop(task)

    def end(self, error: str = PROCESS_ENDED) -> None:
        """End the run in the store, and leave its tasks."""
        self.abort()
        for task, own in self._tried.items():
            self._tasks.drop(task)
            assert self._study is not None
            self._study.tell(own.trial, state=TrialState.FAIL)
        self._tried.clear()
        super().end(error)

    def abort(self) -> None:
        """Ask the tasks to end."""
        for task in self._tried:
            task.ask = ABORT
        super().abort()

    def _tell(self, own: _Tried, task: ClusterTask) -> None:
        """Tell the search how a trial ended."""
        study, ending, failure = self._study, task.ending or {}, task.failure
        assert study is not None
        if own.is_pruned:
            study.tell(own.trial, state=TrialState.PRUNED)
        elif task.ask == ABORT or not (ending or failure):
            study.tell(own.trial, state=TrialState.FAIL)
        elif "error" in ending:
            own.trial.set_user_attr("error", ending["error"])
            study.tell(own.trial, state=TrialState.FAIL)
        elif failure is not None:
            study.tell(own.trial, state=TrialState.FAIL)
            self.abort()
            self._fail(failure)
        else:
            for name, value in ending["facts"].items():
                own.trial.set_user_attr(name, value)
            study.tell(own.trial, ending["score"])

    @property
    def _n_parts(self) -> int:
        """Fits of a trial."""
        return self._plan.n_folds if self._plan.scoring == "folds" else 1

    def _try(self, run: Run, trial: Trial) -> None:
        """Send a trial to the cluster."""
        drawn = suggest(trial, self._plan.space)
        table_id = run.problem.table_id
        task = self._tasks.submit(
            try_remote,
            run_payload(self._store, run),
            table_id,
            lambda: table_content(self._store, table_id),
            drawn,
            workers=self._names,
        )
        self._tried[task] = _Tried(trial)

    def _report(self) -> None:
        """Report how far the search is, and hear whether it is to stop."""
        now = time.monotonic()
        if now - self._reported < REPORT_SECONDS:
            return
        self._reported = now
        assert self._study is not None
        done = sum(own.done for own in self._tried.values())
        progress = Progress(
            epoch=n_ended(self._study) + done,
            max_epochs=self._plan.n_trials + 1,
            train_loss=math.nan,
            valid_loss=math.nan,
            seconds=now - self._began,
            stage=SEARCH,
            is_preparation=True,
        )
        self._stopped |= not self._store.add_events(self.run_id, [progress])

    def _train_best(self) -> None:
        """Send the run itself: it takes the best of the trials that have ended."""
        study = self._study
        assert study is not None
        self._is_searching = False
        self._stopped_before = self._stopped
        if best_trial(study) is None:
            error = first_error(study) or "No trial came to an end."
            self._finish("failed", error=error)
            return
        # No trial is left for the machine that trains it.
        plan = replace(self._plan, n_trials=max(n_ended(study), 1), minutes=None)
        self._train({"sweep.json": plan.to_json().encode()})

    def _end_without_tasks(self) -> None:
        """End the run, which was deleted, once no trial is under way."""
        if not self._tried:
            self._finish("interrupted")
