"""Time and memory of a large table: read, profiled, trained on, shown on every page."""

import multiprocessing
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.pages import OF_A_RUN, OF_A_TREE
from treelab.bench import machine

TARGET = "target"
LEVELS = (3, 8, 30, 120)  # of the categories, in turn
SETTINGS: dict[str, dict[str, Any]] = {"gradtree": {"n_steps": 50}}  # else minutes
MOST_MEMORY = 4.0  # GB that no step should take
PAGES_OF_RUN: tuple[tuple[str, dict[str, str]], ...] = (("train", {}), *OF_A_RUN)


def large_table(
    n_rows: int, n_columns: int, n_classes: int = 2, *, seed: int = 0
) -> pd.DataFrame:
    """Return numbers and, one in four, categories, and a target of some classes.

    Parameters
    ----------
    n_rows : int
    n_columns : int
        With the target.
    n_classes : int, default=2
    seed : int, default=0
    """
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {}
    score = np.zeros(n_rows)
    for k in range(n_columns - 1):
        if k % 4 < 3:
            values = rng.normal(size=n_rows).astype(np.float32).round(2)
            columns[f"number {k + 1}"] = values.astype(np.float64)
            score += rng.normal() * (values > 0) / (1 + k)
        else:
            n_levels = LEVELS[k // 4 % len(LEVELS)]
            codes = rng.integers(0, n_levels, n_rows)
            names = np.array([f"level {i + 1}" for i in range(n_levels)], object)
            columns[f"category {k + 1}"] = pd.Series(names[codes], dtype="str")
            score += rng.normal(size=n_levels)[codes] / (1 + k)
    score += 0.3 * rng.normal(size=n_rows)
    codes = np.searchsorted(
        np.quantile(score, np.arange(1, n_classes) / n_classes), score
    )
    names = np.array([f"class {i + 1}" for i in range(n_classes)], object)
    columns[TARGET] = pd.Series(names[codes], dtype="str")
    return pd.DataFrame(columns)


def run_large(
    n_rows: int,
    n_columns: int,
    n_classes: int,
    learners: list[str],
    ending: str,
    *,
    keeps_caches: bool = False,
) -> pd.DataFrame:
    """Measure each step in a process of its own, print a table, and return it.

    Parameters
    ----------
    n_rows, n_columns, n_classes : int
        Of the synthetic table.
    learners : list of str
        Keys of those that are trained.
    ending : str
        "parquet" or "csv", the file that is read.
    keeps_caches : bool, default=False
        Whether a page finds what those before it cached, as in the app; else nothing,
        and each is measured alone.

    Returns
    -------
    DataFrame
        A row a step: ``step``; ``seconds``; ``processor``, seconds of it; of a page
        ``warm``, the same again, and ``changed``, another row or tolerance, the slowest
        edit; ``gigabytes``, the peak of resident memory.
    """
    with tempfile.TemporaryDirectory() as folder:
        path, home = Path(folder) / f"large.{ending}", Path(folder) / "home"
        rows = [_measured("write", _write, path, n_rows, n_columns, n_classes)[1]]
        table_id, read = _measured("read and store", _read, path, home)
        rows.append(read)
        rows.append(_measured("check and profile", _profile, home, table_id)[1])
        runs = {}
        for learner in learners:
            runs[learner], row = _measured(
                f"train {learner}", _train, home, table_id, learner
            )
            rows.append(row)
        shown = _pages, home, table_id, runs, keeps_caches
        rows += _measured("pages", *shown)[0]
    table = pd.DataFrame(rows)
    print(
        f"\n{n_rows:,} rows x {n_columns:,} columns, {n_classes} classes, {machine()}"
    )
    for learner in learners:
        given = SETTINGS.get(learner, {})
        print(f"{learner}: {given or 'default settings'}")
    print("\n" + table.round(2).to_string(index=False, na_rep=""))
    over = table[table["gigabytes"] > MOST_MEMORY]["step"].tolist()
    print(f"\nOver {MOST_MEMORY:g} GB: {', '.join(over) or 'none'}.")
    return table


def _measured(step: str, work: Callable, *given) -> tuple[Any, dict[str, Any]]:
    """Run a step in a process of its own; return its result and what it took."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        result, took = pool.apply(_timed, (work, *given))
    print(
        f"{step}: {took['seconds']:.1f} s, {took['processor']:.1f} s of processor, "
        f"{took['gigabytes']:.2f} GB",
        flush=True,
    )
    return result, {"step": step, **took}


def _timed(work: Callable, *given) -> tuple[Any, dict[str, float]]:
    """Return a step's result, and its time and memory."""
    began, busy = time.perf_counter(), time.process_time()
    result = work(*given)
    return result, {
        "seconds": time.perf_counter() - began,
        "processor": time.process_time() - busy,
        "gigabytes": _peak(),
    }


def _peak() -> float:
    """Return the most memory that this process held, in GB; NaN where unknown."""
    status = Path("/proc/self/status")  # getrusage counts what the parent held
    if not status.exists():
        return float("nan")
    lines = status.read_text().splitlines()
    (kilobytes,) = [line.split()[1] for line in lines if line.startswith("VmHWM")]
    return int(kilobytes) * 1024 / 1e9


def _write(path: Path, n_rows: int, n_columns: int, n_classes: int) -> None:
    """Write the synthetic table."""
    frame = large_table(n_rows, n_columns, n_classes)
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, index=False)


def _read(path: Path, home: Path) -> str:
    """Read the file and store its table, as an upload does; return its id."""
    from treelab.data.reading.read_table import read_table
    from treelab.runs.store.run_store import RunStore

    return RunStore(home).add_table(read_table(path).frame, path.name)


def _problem(home: Path, table_id: str):
    """Return the stored table and the problem of predicting its target."""
    from treelab.data.problem import make_problem
    from treelab.runs.store.run_store import RunStore

    frame = RunStore(home).table(table_id)
    return frame, make_problem(frame, TARGET, table_id=table_id, table_name="large")


def _profile(home: Path, table_id: str) -> None:
    """Compute what Data and Profile say of the table."""
    from treelab.data.column_meaning import describe_columns
    from treelab.data.problem_check import check_problem
    from treelab.evaluation.profile import (
        alone,
        associations,
        missing_by_column,
        row_facts,
    )

    frame, problem = _problem(home, table_id)
    for step in (
        lambda: describe_columns(frame),
        lambda: check_problem(frame, problem),
        lambda: row_facts(frame, problem),
        lambda: missing_by_column(frame, problem),
        lambda: associations(frame[list(problem.columns[:20])]),
        lambda: alone(frame, problem),
    ):
        step()


def _train(home: Path, table_id: str, learner: str) -> str:
    """Train a learner as a worker does; return the run."""
    from treelab.runs.jobs.run_one import run_one
    from treelab.runs.store.run_store import RunStore

    store = RunStore(home)
    _, problem = _problem(home, table_id)
    run = store.create(learner, SETTINGS.get(learner, {}), problem, device="cpu")
    if run_one(run, home) != "done":
        raise ValueError(store.run(run).error)
    return run


def _pages(
    home: Path, table_id: str, runs: dict[str, str], keeps_caches: bool
) -> list[dict[str, Any]]:
    """Open every page in one process, as the server is one; return a row a page."""
    import os

    from benchmarks.pages import measured

    os.environ.update(TREELAB_HOME=str(home), TREELAB_SLOTS="0")
    visits: list[tuple[str, str, dict[str, str]]] = [
        ("data", "", {"table": table_id}),
        ("data", "columns", {"table": table_id, "tab": "Columns"}),
    ]
    for learner, run in runs.items():
        of_tree = () if learner == "grande" else OF_A_TREE
        visits += [
            (page, " ".join((learner, *more.values())), {"run": run} | more)
            for page, more in (*PAGES_OF_RUN, *of_tree)
        ]
    visits.append(("runs", "", {}))
    if len(runs) > 1:
        pair = list(runs.values())
        visits.append(("compare", "", {"against": pair[0], "run": pair[1]}))
    rows = []
    for page, learner, address in visits:
        times = measured(page, learner, address, keeps_caches=keeps_caches)
        step = f"{page} {learner}".rstrip()
        row = {"step": step, "processor": times["cold"], "warm": times["warm"]}
        rows.append(row | {"changed": times["changed"], "gigabytes": _peak()})
        print(f"{step}: {times['cold']:.1f} s cold, {_peak():.2f} GB", flush=True)
    return rows


def run(chosen: Namespace) -> int:
    """Measure a large table and print."""
    run_large(
        chosen.rows,
        chosen.columns,
        chosen.classes,
        [key for key in chosen.learners.split(",") if key],
        chosen.file,
        keeps_caches=chosen.keep_caches,
    )
    return 0
