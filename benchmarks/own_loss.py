"""What a loss in Python costs: CPU time of steps and fits, to the built-in loss."""

import time
from argparse import Namespace
from collections.abc import Callable
from unittest.mock import patch

import numpy as np
import pandas as pd
import torch

from treelab.bench import machine
from treelab.learners.registry import make_estimator
from treelab.training.loop import Training

N_ROWS, N_COLUMNS, LEVEL = 1500, 8, 0.8
FITS = 2  # of each, of which the quickest counts


def run(chosen: Namespace) -> int:
    """Fit each learner by a loss and by the function that repeats it; print ratios."""
    X, y = table(chosen.seed)
    rows = []
    for key in chosen.learners.split(","):
        for name, (settings, function) in LOSSES.items():
            built_in = timed(key, settings, X, y)
            own = timed(key, {"loss": function}, X, y)
            ratios = [b / a if a else np.nan for a, b in zip(built_in, own)]
            rows.append([key, name, *built_in, *ratios])
    columns = ["learner", "loss", "ms a step", "s a fit", "step, ratio", "fit, ratio"]
    print(
        f"{machine()}; {N_ROWS} rows; CPU time of the built-in loss, and of a function"
    )
    print(pd.DataFrame(rows, columns=columns).round(2).to_string(index=False))
    return 0


def table(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a made table whose noise hangs on a column."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(N_ROWS, N_COLUMNS))
    y = 2 * x[:, 0] + np.sin(3 * x[:, 1]) + (x[:, 2] > 0) * x[:, 3]
    y += rng.normal(size=N_ROWS) * (1 + (x[:, 4] > 0))
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(N_COLUMNS)]), y


def squares(raw: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The squared error."""
    return (raw - y) ** 2


def pinball(raw: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The pinball loss."""
    return torch.maximum(LEVEL * (y - raw), (1 - LEVEL) * (raw - y))


LOSSES: dict[str, tuple[dict, Callable]] = {
    "squared error": ({}, squares),
    "pinball": ({"loss": "quantile", "quantile": LEVEL}, pinball),
}


def timed(key: str, settings: dict, X, y) -> tuple[float, float]:
    """Return milliseconds of a step, 0 without steps, and seconds of a whole fit."""
    step, fit = [], []
    take = Training.take
    for _ in range(FITS):
        spent: list[float] = []

        def clocked(self, rows, spent=spent):
            began = time.process_time()
            loss = take(self, rows)
            spent.append(time.process_time() - began)
            return loss

        with patch.object(Training, "take", clocked):
            began = time.process_time()
            make_estimator(key, "regression", settings, random_state=0).fit(X, y)
        fit.append(time.process_time() - began)
        step.append(1000 * float(np.mean(spent)) if spent else 0.0)
    return min(step), min(fit)
