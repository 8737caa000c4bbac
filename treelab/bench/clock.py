"""Taking the time of a step."""

import time
from collections.abc import Callable

import numpy as np
import torch


def median_seconds(step: Callable[[], None], steps: int, device: str = "cpu") -> float:
    """Run a step once to warm up, then return the median seconds of ``steps`` runs."""
    return medians([step], steps, device)[0]


def medians(
    made: list[Callable[[], None]], steps: int, device: str = "cpu"
) -> list[float]:
    """Time several steps in turns, so that a slow moment touches all of them.

    Parameters
    ----------
    made : list of callable
    steps : int
        Runs of each that count; one more warms it up.
    device : str, default="cpu"
        Waited for before and after each run.

    Returns
    -------
    list of float
        Median seconds of each.
    """
    taken = np.empty((steps + 1, len(made)))
    for turn in range(steps + 1):
        for place, step in enumerate(made):
            _finish(device)
            started = time.perf_counter()
            step()
            _finish(device)
            taken[turn, place] = time.perf_counter() - started
    return [float(seconds) for seconds in np.median(taken[1:], axis=0)]


def _finish(device: str) -> None:
    """Wait until the device is idle."""
    if device.startswith("cuda"):
        torch.cuda.synchronize()
