"""Runs trained in a process of their own, which a test may kill.

It is forked from one that has loaded the learners: to load them takes longer than most
of these runs.
"""

import multiprocessing
import os
import signal
from multiprocessing.process import BaseProcess
from pathlib import Path

from treelab.runs.jobs import resume as checkpoints

_forking = multiprocessing.get_context("forkserver")
_forking.set_forkserver_preload(["tests.runs.jobs.loaded"])


def start(work, *args) -> BaseProcess:
    """Call a function of this module in another process."""
    process = _forking.Process(target=work, args=args)
    process.start()
    return process


def train(run_id: str, home: Path, until: float | None = None) -> None:
    """Train a run, with a checkpoint of each step.

    ``until`` is the part of its epochs after which the process is killed.
    """
    from treelab.runs.jobs.run_one import run_one

    _save_each_step()

    def kill(report):
        if until is not None and report.total_epoch >= until * report.max_epochs:
            os.kill(os.getpid(), signal.SIGKILL)

    run_one(run_id, home, callbacks=[kill])


def _save_each_step() -> None:
    """Write each piece when it is done, however quick it is beside the disk."""
    from treelab.training import checkpointer

    checkpoints.CHECKPOINT_SECONDS = 0.0
    checkpointer.WRITING_FRACTION = float("inf")


def train_counted(run_id: str, home: Path, file: Path, last: int) -> None:
    """Train a run, with a line for each fold or step; at one the process is killed."""
    from treelab.learners.common import tuned_tree as tuning
    from treelab.learners.gradtree.network import HardTrees
    from treelab.runs.jobs.run_one import run_one

    _save_each_step()

    def counted(work):
        def counting(*args):
            with file.open("a") as lines:
                lines.write("x\n")
            if len(file.read_text().splitlines()) == last:
                os.kill(os.getpid(), signal.SIGKILL)
            return work(*args)

        return counting

    tuning._fold_sums = counted(tuning._fold_sums)
    HardTrees.batch_loss = counted(HardTrees.batch_loss)
    run_one(run_id, home)
