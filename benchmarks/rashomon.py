"""How many trees score like a run's own, and what they are worth.

A run is trained as the app trains it, then *Find more* beside it. Trees of the sets are
held against the test rows, which nothing was chosen on.
"""

from argparse import Namespace
from collections.abc import Iterator
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from benchmarks.tables import BenchTable, choose, read_manifest
from treelab.data.problem import make_problem
from treelab.evaluation.metrics import headline_score
from treelab.runs.jobs.rashomon import create_more
from treelab.runs.jobs.run_one import run_one
from treelab.runs.store.run_store import RunStore


def run(chosen: Namespace) -> int:
    """Train, find more, and print a line a set."""
    tasks = ("binary", "multiclass", "regression")
    tables = choose(read_manifest(chosen.data), None, tasks, chosen.tables)
    lines: list[dict] = []
    for table in tables:
        for seed in range(chosen.seed, chosen.seed + chosen.trials):
            for line in _sets(table, seed, chosen.tolerance):
                print(", ".join(f"{name} {own}" for name, own in line.items()))
                lines.append(line)
    print(f"\nTolerance {chosen.tolerance:g}\n")
    print(pd.DataFrame(lines).round(3).to_string(index=False))
    return 0


def _sets(table: BenchTable, seed: int, tolerance: float) -> Iterator[dict]:
    """Measure the set of a run and that of the run that finds more."""
    with TemporaryDirectory() as folder:
        store = RunStore(folder)
        X, y = table.load()
        frame = X.assign(**{table.target: y})
        table_id = store.add_table(frame, table.name)
        problem = make_problem(
            frame,
            table.target,
            task=table.task,
            table_id=table_id,
            table_name=table.name,
            seed=seed,
        )
        run_id = store.create("gradtree", {}, problem, device="cpu")
        for name in ("trained", "found more"):
            if name == "found more":
                run_id = create_more(store, store.run(run_id))
            if run_one(run_id, store.home) != "done":
                raise RuntimeError(store.run(run_id).error)
            head = {"table": table.name, "seed": seed, "set": name}
            yield head | _measured(store, run_id, tolerance)


def _measured(store: RunStore, run_id: str, tolerance: float) -> dict:
    """Count the trees of a run's set, and score them on the test rows."""
    run, found = store.run(run_id), store.rashomon(run_id)
    assert found is not None
    X, y, _ = run.problem.split(store.table(run.problem.table_id)).rows("test")
    near, task = found.within(tolerance), run.problem.task
    test = [
        headline_score(task, y, found.trees[i].predict(X))
        for i in (*near, found.chosen)
    ]
    return {
        "seconds": round(run.summary["seconds"], 1),
        "looked at": found.n_candidates,
        "within": len(near),
        "predict differently": found.scores["alike"].iloc[near].nunique(),
        "leaves, own": found.tree.n_leaves,
        "score, own": float(found.score[found.chosen]),
        "score, best": float(found.score.max()),
        "test, mean": float(np.mean(test[:-1])),
        "test, own": float(test[-1]),
    }
