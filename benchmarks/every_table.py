"""Whether every table of a folder is read right without help, and trained on.

Each table goes the way of an upload: its file is read, its columns and its task are
found without help, and each learner trains on it as a worker does.
"""

import tempfile
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm import tqdm

from benchmarks.runner import Results
from benchmarks.tables import BenchTable, choose, read_manifest
from treelab.data.columns import column_kind
from treelab.data.problem import Problem, make_problem
from treelab.data.reading.read_table import read_table
from treelab.evaluation.metrics import headline
from treelab.learners.registry import LEARNERS
from treelab.runs.jobs.run_one import run_one
from treelab.runs.store.run_store import RunStore
from treelab.trees.words import listed

UNDERSTOOD = "read"  # stands where a learner's key stands


def missed(table: BenchTable, frame: pd.DataFrame, problem: Problem) -> list[str]:
    """Return what was taken for something else than the manifest says, in words."""
    found = []
    if problem.task != table.task:
        found.append(f"{table.target}: {problem.task}, not {table.task}")
    for column in frame.columns.drop(table.target):
        kind = column_kind(frame[column])
        wanted = "category" if column in table.categorical else "number"
        if kind != wanted:
            found.append(f"{column}: {kind}, not {wanted}")
    for column in frame.columns.drop([table.target, *problem.columns]):
        if frame[column].nunique(dropna=False) > 1:
            found.append(f"{column}: left out")
    return found


def train(table: BenchTable, key: str, home: Path, frame: pd.DataFrame) -> dict:
    """Train a learner at its defaults; return how that ended.

    Returns
    -------
    dict
        ``state``, ``score`` on test rows (macro F1 or R2) and ``seconds``; ``error``,
        None where it came to its end.
    """
    store = RunStore(home)
    problem = make_problem(
        frame,
        table.target,
        table_id=store.add_table(frame, table.path.name),
        table_name=table.path.name,
        task=table.task,
    )
    run_id = store.create(key, {}, problem, device="cpu")
    began = time.perf_counter()
    state = run_one(run_id, home)
    run = store.run(run_id)
    row: dict[str, Any] = {"state": state, "error": None}
    row["seconds"] = round(time.perf_counter() - began, 1)
    if state != "done":
        return row | {"error": run.error or state}
    return row | {"score": run.metrics["test"][headline(table.task)]}


def report(chosen: Namespace) -> int:
    """Read and train, print a line a table and what failed."""
    results = Results(chosen.out or Path("bench-tables.jsonl"))
    keys = chosen.learners.split(",") if chosen.learners else [*LEARNERS]
    if unknown := set(keys) - {*LEARNERS, UNDERSTOOD}:
        raise ValueError(f"There is no learner {listed(sorted(unknown))}.")
    keys = [key for key in keys if key != UNDERSTOOD]
    tasks = ("binary", "multiclass", "regression")
    tables = choose(read_manifest(chosen.data), None, tasks, chosen.tables)
    tables = sorted(tables, key=lambda table: table.path.stat().st_size)
    for table in tqdm(tables, unit="table"):
        frame = read_table(table.path).frame
        row = {"table": table.name, "trial": 0}
        if not results.has(table.name, 0, UNDERSTOOD):
            problem = make_problem(frame, table.target)
            misses = missed(table, frame, problem)
            entry = {"contender": UNDERSTOOD, "missed": misses, "error": None}
            results.add(row | entry)
        for key in keys:
            if results.has(table.name, 0, key):
                continue
            with tempfile.TemporaryDirectory() as home:
                trained = train(table, key, Path(home), frame)
            results.add(row | {"contender": key} | trained)
    _print(results.frame())
    return 0


def _print(rows: pd.DataFrame) -> None:
    """Print scores by table and learner, what was missed, and what failed."""
    rows = rows.drop_duplicates(["table", "contender"], keep="last")
    read = rows[rows["contender"] == UNDERSTOOD]
    fits = rows[rows["contender"] != UNDERSTOOD]
    if len(fits):
        scores = fits.pivot(index="table", columns="contender", values="score")
        print(scores.round(3).to_string(na_rep=""))
    for _, row in read.iterrows():
        for miss in row["missed"]:
            print(f"{row['table']}: {miss}")
    failed = fits[fits["error"].notna()]
    for _, row in failed.iterrows():
        print(f"{row['table']}, {row['contender']}: {row['error']}")
    understood = int((read["missed"].str.len() == 0).sum())
    print(
        f"\n{understood} of {len(read)} tables are taken for what they are; "
        f"{len(fits) - len(failed)} of {len(fits)} fits came to their end."
    )
