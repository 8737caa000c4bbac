"""What a worker of the Dask cluster does: trains a run, tries one trial of a sweep.

Nothing here sees the app's run store. A training gets a store of its own, in the
worker's folder and for its time only.
"""

import io
import platform
import threading
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
from distributed import get_client, get_worker
from optuna.trial import FixedTrial

from treelab.runs.jobs.run_one import train
from treelab.runs.store.process import ProcessId
from treelab.runs.sweeps.plan import SweepPlan
from treelab.runs.sweeps.trial_score import TrialScorer
from treelab.runs.workers.cluster.payload import Item, Payload, check_version, run_of
from treelab.runs.workers.cluster.remote_store import RemoteStore
from treelab.runs.workers.cluster.uplink import Uplink

# Trainings share a process's threads and its GPU badly, and numba's may not meet.
_ONE_AT_A_TIME = threading.Lock()

ENDING = ("state", "error", "metrics", "summary")
"""What is sent of a run once its training has ended."""


def train_remote(payload: Payload, table: bytes, link: dict[str, str]) -> None:
    """Train a run on this machine; what comes of it is sent while it does.

    Parameters
    ----------
    payload : dict
        See ``run_payload``.
    table : bytes
        The run's table, as Parquet.
    link : dict
        See ``Uplink``.

    Raises
    ------
    ValueError
        If this machine has another treelab, or the table came damaged.
    """
    check_version(payload)
    own = TemporaryDirectory(prefix="treelab-", dir=get_worker().local_directory)
    with _ONE_AT_A_TIME, own as home:
        store = RemoteStore(Path(home), lambda kind, facts: uplink.send(kind, facts))
        run_id = store.unpack(payload, table)

        def collect() -> list[Item]:
            files = store.changed_files(run_id)
            return [("files", {"files": files})] if files else []

        def ask(what: str) -> None:
            if what == "pause":
                store.request_pause(run_id)
            else:
                store.request_stop(run_id)

        uplink = Uplink(get_client(), link, collect, ask)
        uplink.send("begun", {"host": platform.node(), "worker": get_worker().address})
        store.start(run_id, ProcessId.here())
        with uplink:
            train(store, run_id, should_abort=lambda: uplink.is_unwanted)
            run = store.run(run_id)
            uplink.end({name: getattr(run, name) for name in ENDING})


def try_remote(
    payload: Payload, table: bytes, link: dict[str, str], drawn: dict[str, Any]
) -> None:
    """Score one trial of a sweep on this machine, for the search on the app's.

    Parameters
    ----------
    payload, table, link
        See ``train_remote``.
    drawn : dict
        The settings that the trial drew.
    """
    check_version(payload)
    run = run_of(payload["runs"][0])
    plan = SweepPlan.from_json(payload["files"][f"{run.id}/sweep.json"].decode())
    done = [0.0]

    def watch(fraction: float) -> bool:
        done[0] = fraction
        return uplink.is_unwanted

    def collect() -> list[Item]:
        return [("progress", {"done": done[0]})]

    uplink = Uplink(get_client(), link, collect, lambda _: None)
    uplink.send("begun", {"host": platform.node(), "worker": get_worker().address})
    with _ONE_AT_A_TIME, uplink:
        split = run.problem.split(pd.read_parquet(io.BytesIO(table)))
        trial = _RemoteTrial(drawn, uplink)
        try:
            score = TrialScorer(run, plan, split).score(trial, drawn, watch)
            uplink.end({"score": score, "facts": trial.user_attrs})
        except (ValueError, ArithmeticError) as error:
            uplink.end({"error": str(error).split("\n")[0]})


class _RemoteTrial(FixedTrial):
    """A trial whose scores so far are sent to the search."""

    def __init__(self, params: Mapping[str, Any], uplink: Uplink):
        super().__init__(dict(params))
        self._uplink = uplink

    def report(self, value: float, step: int) -> None:
        """Send a score; the search ends the task where it is hopeless."""
        self._uplink.send("part", {"score": value, "part": step})
