"""A sweep on a Dask cluster of this machine, one of whose workers is killed."""

import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from unittest.mock import patch

from treelab.bench.machine import machine
from treelab.bench.soak.soak import builtin_problem
from treelab.evaluation.metrics import headline
from treelab.runs.jobs.run_one import run_one
from treelab.runs.jobs.sweep import create_sweep
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.runs.sweeps.plan import SweepPlan, presets
from treelab.runs.sweeps.study import read_study, trial_table
from treelab.runs.workers.queue import Queue

LEARNER = "gradtree"
MODULES = "distributed.cli.dask_"
MOST_SECONDS = 3600.0
WORKERS_SECONDS = 60.0


def sweep_on_cluster(n_trials: int, n_workers: int) -> int:
    """Search GradTree's settings on breast cancer, kill a worker after a third.

    Prints how long the search took, how trials ended, and the test score beside that of
    the default settings. The cluster's processes run in folders of their own.

    Parameters
    ----------
    n_trials : int
    n_workers : int
        At least 2, of one thread each.

    Returns
    -------
    int
        1 where a trial is missing or the run did not end, else 0.
    """
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        processes, address = _start_cluster(Path(folder), n_workers)
        named = {"TREELAB_HOME": str(home), "TREELAB_CLUSTER": address}
        try:
            with patch.dict(os.environ, named | {"CUDA_VISIBLE_DEVICES": ""}):
                store = RunStore(home)
                queue = Queue(store)
                try:
                    found = _sweep(store, queue, n_trials, processes[-1])
                finally:
                    queue.shut_down()
                return _report(store, *found, n_trials)
        finally:
            for process in processes:
                process.kill()
                process.wait()


def _start_cluster(folder: Path, n_workers: int) -> tuple[list[subprocess.Popen], str]:
    """Start a scheduler and workers, the last one last; return them and the address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    commands = [["scheduler", "--host", "127.0.0.1", "--port", str(port)]]
    for number in range(n_workers):
        own = folder / f"worker-{number}"
        own.mkdir()
        named = ["worker", address, "--name", str(number), "--no-nanny"]
        commands.append([*named, "--nthreads", "1", "--local-directory", str(own)])
    one_thread = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", f"{MODULES}{kind}", *rest, "--no-dashboard"],
            env=os.environ | one_thread,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for kind, *rest in commands
    ]
    return processes, address


def _sweep(
    store: RunStore, queue: Queue, n_trials: int, victim: subprocess.Popen
) -> tuple[Run, float, int]:
    """Run the sweep; return it, its seconds, and the trials before the kill."""
    problem = builtin_problem(store)
    preset = presets(LEARNER)["treelab"]
    plan = SweepPlan(preset.space, n_trials=n_trials, scoring=preset.scoring)
    run_id = create_sweep(store, LEARNER, dict(preset.fixed), problem, plan)
    queue.ensure_workers()
    until = time.monotonic() + WORKERS_SECONDS
    while "workers" not in queue.device() and time.monotonic() < until:
        time.sleep(0.2)
    began = time.monotonic()
    queue.submit(run_id)
    killed_after = -1
    while not store.run(run_id).is_finished:
        if time.monotonic() - began > MOST_SECONDS:
            break
        queue.check()
        study = read_study(store.folder(run_id))
        n_ended = 0 if study is None else _n_ended(trial_table(study))
        if killed_after < 0 and n_ended >= n_trials / 3:
            victim.kill()
            killed_after = n_ended
        time.sleep(0.5)
    return store.run(run_id), time.monotonic() - began, killed_after


def _report(
    store: RunStore, run: Run, seconds: float, killed_after: int, n_trials: int
) -> int:
    """Print what came of it; return the exit code."""
    study = read_study(store.folder(run.id))
    assert study is not None
    table = trial_table(study)
    counts = ", ".join(f"{n} {s}" for s, n in table["state"].value_counts().items())
    print(
        f"{machine()}\n{n_trials} trials of {LEARNER} on {run.problem.table_name}: "
        f"{seconds:.0f} s; one worker of the cluster was killed after {killed_after} "
        f"trials.\nTrials: {counts}. The run ended {run.state}. {run.error}"
    )
    is_whole = _n_ended(table) >= n_trials and run.state == "done" and killed_after > 0
    if run.state == "done":
        plain = store.create(LEARNER, {}, run.problem, device="cpu")
        run_one(plain, store.home)
        name = headline(run.problem.task)
        for title, each in (("swept", run), ("defaults", store.run(plain))):
            print(
                f"{title}: test {name} {each.metrics['test'][name]:.3f}, "
                f"{each.summary['leaves']} leaves"
            )
    print("Complete." if is_whole else "Not complete.")
    return 0 if is_whole else 1


def _n_ended(table) -> int:
    """Count the trials that came to an end by themselves."""
    return int(table["state"].isin(["done", "pruned"]).sum())
