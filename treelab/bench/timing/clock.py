"""Taking the time of a step."""

import time
from collections.abc import Callable, Sequence

import numpy as np
import torch


def median_seconds(
    step: Callable[[], object],
    n_runs: int,
    device: str = "cpu",
    *,
    at_least: float = 0.0,
) -> float:
    """Run a step once to warm up, then return the median seconds of ``n_runs`` runs.

    Of more runs where these take less than ``at_least`` seconds together.
    """
    return medians([step], n_runs, device, at_least=at_least)[0]


def medians(
    steps: Sequence[Callable[[], object]],
    n_runs: int,
    device: str = "cpu",
    *,
    at_least: float = 0.0,
) -> list[float]:
    """Time several steps in turns, so that a slow moment touches all of them.

    Parameters
    ----------
    steps : sequence of callable
    n_runs : int
        Runs of each that count, at least; one more warms it up.
    device : str, default="cpu"
        Waited for before and after each run.
    at_least : float, default=0.0
        Seconds that all runs that count take together, at least: the median of a few
        short runs is that of a moment.

    Returns
    -------
    list of float
        Median seconds of each.
    """
    turns: list[list[float]] = []
    total = 0.0
    while len(turns) <= n_runs or total < at_least:
        taken = []
        for step in steps:
            _finish(device)
            started = time.perf_counter()
            step()
            _finish(device)
            taken.append(time.perf_counter() - started)
        if turns:  # the first one warms up
            total += sum(taken)
        turns.append(taken)
    return [float(seconds) for seconds in np.median(turns[1:], axis=0)]


def _finish(device: str) -> None:
    """Wait until the device is idle."""
    if device.startswith("cuda"):
        torch.cuda.synchronize()
