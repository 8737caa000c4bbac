"""Run contenders over tables and trials, save every result, average them."""

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold, train_test_split
from tqdm import tqdm

from treelab.bench.contenders import Contender
from treelab.bench.machine import machine
from treelab.bench.tables import BenchTable
from treelab.evaluation.metrics import headline, scores

# Of each paper, the figures of ``BenchTable.reference`` that stand beside ours.
PAPER_FIGURES = {
    "gradtree": ("gradtree", "cart"),
    "grande": ("grande_default", "xgb_default", "catboost_default"),
    "get": ("get", "get_linear", "cart", "rf"),
}


def splits(
    y: np.ndarray, protocol: str, trials: int, *, seed: int = 0
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield training and test rows of each trial.

    Parameters
    ----------
    protocol : {"random", "folds", "quarters"}
        80/20 random splits by classes (GradTree), the folds of one 5-fold
        cross-validation, of which the first `trials` are taken (GRANDE), or 75/25
        random splits of a regression table (GET).
    trials : int
        Splits.
    seed : int, default=0
        Of the first split.
    """
    rows = np.arange(len(y))
    if protocol == "folds":
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        for number, fold in enumerate(folds.split(rows, y)):
            if number < trials:
                yield fold
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
    with tqdm(total=total, unit="fit") as bar:
        for table in tables:
            X, y = table.load()
            trial_rows = splits(y, protocol, trials, seed=seed)
            for trial, (train, test) in enumerate(trial_rows, start=seed):
                for contender in contenders:
                    bar.set_postfix_str(f"{table.name} {contender.name}")
                    if not results.has(table.name, trial, contender.name):
                        row = _measure_one(
                            contender, table.task, X, y, train, test, trial
                        )
                        results.add({"table": table.name, "trial": trial} | row)
                    bar.update()


def _measure_one(contender, task, X, y, train, test, trial) -> dict:
    """Fit and score one contender on one split."""
    started = time.perf_counter()
    row = {"contender": contender.name, "machine": machine()}
    try:
        predicted, leaves = contender.fit_predict(
            X.iloc[train], y[train], X.iloc[test], task, trial
        )
    except Exception as error:  # the one place where a benchmark must go on
        return row | {"error": f"{type(error).__name__}: {error}"}
    return row | {
        headline(task): scores(task, y[test], predicted)[headline(task)],
        "leaves": leaves,
        "seconds": round(time.perf_counter() - started, 3),
        "error": None,
    }


def summary(
    results: Results, tables: Sequence[BenchTable], paper: str | None
) -> pd.DataFrame:
    """Return mean scores, leaves and seconds beside the paper's own figures.

    Returns
    -------
    DataFrame
        A row a table, the last one their mean; columns by contender.
    """
    frame = results.frame()
    frame = frame[frame["table"].isin([t.name for t in tables])]
    frame = frame[frame["error"].isna()]
    pieces = []
    score = "r2" if "r2" in frame else "macro_f1"
    for column, name in ((score, ""), ("leaves", " leaves"), ("seconds", " s")):
        wide = frame.pivot_table(column, "table", "contender", "mean")
        pieces.append(wide.dropna(axis=1, how="all").add_suffix(name))
    wide = pd.concat(pieces, axis=1)
    for key in PAPER_FIGURES.get(paper or "", ()):
        figures = {t.name: t.reference.get(key) for t in tables}
        wide[f"{key} (paper)"] = pd.Series(figures, dtype=float)
    order = [t.name for t in tables if t.name in wide.index]
    wide = wide.loc[order]
    wide.loc["mean"] = wide.mean()
    return wide
