"""Run contenders over tables and trials, and save every result."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold, train_test_split
from tqdm import tqdm

from benchmarks.contenders import HEAVIEST, Contender
from benchmarks.tables import BenchTable
from treelab.bench import machine
from treelab.evaluation.metrics import headline, scores
from treelab.learners.common.origin import Origin
from treelab.runs.workers.cluster import cluster_address, using


def splits(
    y: np.ndarray, protocol: str, trials: int, *, seed: int = 0
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield training and test rows of each trial.

    Parameters
    ----------
    protocol : {"random", "folds", "quarters"}
        80/20 random splits by classes (GradTree), the folds of one 5-fold
        cross-validation, from the sixth trial on once more (GRANDE), or 75/25 random
        splits of a regression table (GET).
    trials : int
        Splits.
    seed : int, default=0
        Of the first split.
    """
    rows = np.arange(len(y))
    if protocol == "folds":
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        yield from islice(cycle(folds.split(rows, y)), trials)
        return
    if protocol == "quarters":
        for trial in range(trials):
            split = train_test_split(rows, test_size=0.25, random_state=seed + trial)
            yield tuple(split)
        return
    counts = pd.Series(y).value_counts()
    for trial in range(trials):
        yield tuple(
            train_test_split(
                rows,
                test_size=0.2,
                random_state=seed + trial,
                stratify=y if counts.min() > 1 else None,
            )
        )


class Results:
    """Results in a file of JSON lines; what it holds already is not run again.

    Parameters
    ----------
    path : Path
        Read where it exists, and appended to.
    """

    def __init__(self, path: Path):
        self.path = path
        self.rows = []
        if path.is_file():
            self.rows = [json.loads(line) for line in path.read_text().splitlines()]

    def has(self, table: str, trial: int, contender: str) -> bool:
        """Whether this was measured already (an error counts as not)."""
        key = (table, trial, contender)
        return any(
            (row["table"], row["trial"], row["contender"]) == key
            and row["error"] is None
            for row in self.rows
        )

    def add(self, row: dict) -> None:
        """Append one result and save it at once."""
        self.rows.append(row)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")

    def frame(self) -> pd.DataFrame:
        """The latest result of each table, trial and contender."""
        frame = pd.DataFrame(self.rows)
        return frame.drop_duplicates(["table", "trial", "contender"], keep="last")


def measure(
    tables: Sequence[BenchTable],
    contenders: Sequence[Contender],
    results: Results,
    *,
    protocol: str,
    trials: int,
    seed: int = 0,
) -> None:
    """Fit and score every contender on every split; a failure is one of the results.

    Where ``TREELAB_CLUSTER`` names a cluster, the fits of a table go there at once.

    Parameters
    ----------
    tables : sequence of BenchTable
    contenders : sequence of Contender
    results : Results
        Filled; what it holds already is not run again.
    protocol : str
        See `splits`.
    trials : int
        Splits of each table.
    seed : int, default=0
        Of the first split; trials are numbered from it.
    """
    total = len(tables) * trials * len(contenders)
    with _calls() as calls, tqdm(total=total, unit="fit") as bar:
        for table in tables:
            X, y = table.load()
            trial_rows = splits(y, protocol, trials, seed=seed)
            fits = [
                (contender, table.task, train, test, trial)
                for trial, (train, test) in enumerate(trial_rows, start=seed)
                for contender in contenders
                if not results.has(table.name, trial, contender.name)
            ]
            bar.update(trials * len(contenders) - len(fits))
            bar.set_postfix_str(table.name)
            for place, row in calls(_measure_one, (X, y), fits):
                contender, *_, trial = fits[place]
                if isinstance(row, Exception):
                    row = _failure(contender, row)
                bar.set_postfix_str(f"{table.name} {contender.name}")
                results.add({"table": table.name, "trial": trial} | row)
                bar.update()


@contextmanager
def _calls() -> Iterator[Callable[..., Iterator[tuple[int, Any]]]]:
    """Yield what calls a function many times: here, or on the cluster that is named."""
    if not (address := cluster_address()):
        yield _call_here
        return
    with using(address) as (client, workers):
        yield partial(_call_there, client, workers)


def _call_here(function, shared, each) -> Iterator[tuple[int, Any]]:
    """Call a function as ``function(*own, *shared)`` for each of many ``own``.

    Yields the place of a call, and what it returned.
    """
    for place, own in enumerate(each):
        yield place, function(*own, *shared)


def _call_there(client, workers, function, shared, each) -> Iterator[tuple[int, Any]]:
    """Call a function on the workers of a cluster; see ``_call_here``.

    What is shared is sent to each worker once. Dask calls once more where a worker is
    lost; where it gave up, the exception is yielded.
    """
    from distributed import as_completed

    sent = client.scatter([*shared], workers=workers, broadcast=True, hash=False)
    futures = {
        client.submit(_call, function, own, *sent, workers=workers, pure=False): place
        for place, own in enumerate(each)
    }
    for future in as_completed(futures, loop=client.loop):
        error = future.exception()
        yield futures[future], future.result() if error is None else error


# Fits share a process's threads badly, and numba's may not meet.
_ONE_AT_A_TIME = threading.Lock()


def _call(function: Callable, own: Sequence, *shared: Any) -> Any:
    """Call a function on a worker, when no other is called there."""
    with _ONE_AT_A_TIME:
        return function(*own, *shared)


def _failure(contender: Contender, error: Exception) -> dict:
    """Return the result of a fit that failed."""
    wrong = f"{type(error).__name__}: {error}"
    return {"contender": contender.name, "machine": machine(), "error": wrong}


def _measure_one(contender, task, train, test, trial, X, y) -> dict:
    """Fit and score one contender on one split."""
    started = time.perf_counter()
    row = {"contender": contender.name, "machine": machine()}
    try:
        found = contender.fit_predict(
            X.iloc[train], y[train], X.iloc[test], task, trial
        )
    except Exception as error:  # the one place where a benchmark must go on
        return _failure(contender, error)
    seconds = time.perf_counter() - started
    name = headline(task)
    row[name] = scores(task, y[test], found.predicted)[name]
    for size, predicted in found.predicted_at.items():
        row[f"{name} at {size}"] = scores(task, y[test], predicted)[name]
    if found.by_heaviest is not None:
        row[f"{name} by {HEAVIEST}"] = scores(task, y[test], found.by_heaviest)[name]
    row |= found.facts
    if found.origin is not None:
        row |= _origin_facts(found.origin)
    return row | {"leaves": found.leaves, "seconds": round(seconds, 3), "error": None}


def _origin_facts(origin: Origin) -> dict[str, float]:
    """Return whether a model was trained and equals its start; what changed."""
    return {
        "trained": float(origin.trained),
        "equals start": float(origin.equals_start),
        "changed": origin.n_changed / max(origin.n_splits, 1),
    }
