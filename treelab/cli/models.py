"""``python -m treelab predict``, ``export`` and ``runs``: use what was trained."""

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd

from treelab.cli.worker import add_home
from treelab.data.columns import as_frame
from treelab.data.reading.read import read_table
from treelab.data.values import cast_column
from treelab.evaluation.metrics import headline
from treelab.runs.jobs.model_facts import ON_TOP
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.trees.code import LANGUAGES
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.io import load_model
from treelab.trees.pruning.path import PruningPath
from treelab.trees.text.dot import to_dot
from treelab.trees.text.rules import to_rules, to_text
from treelab.trees.tree import Tree

FORMATS = ("rules", "text", "dot", "json", "html", *LANGUAGES)


def add_commands(commands, html_page: Callable[..., str]) -> None:
    """Add ``predict``, ``export`` and ``runs`` to the commands.

    ``html_page`` writes a tree, with its store and run where it has them, as a page.
    """
    parser = commands.add_parser(
        "predict",
        help="predict the rows of a table with a trained model",
        description="Writes the table with a column 'prediction' and, for classes, "
        "their probabilities beside it.",
    )
    _add_model(parser)
    parser.add_argument("table", metavar="TABLE", help="a .csv, .tsv or .parquet file")
    parser.set_defaults(command=predict)

    parser = commands.add_parser(
        "export", help="write a trained tree as rules, code or a page"
    )
    _add_model(parser)
    parser.add_argument("--format", choices=FORMATS, default="rules")
    parser.add_argument(
        "--estimator",
        type=int,
        metavar="N",
        help="which tree of an ensemble, from 0",
    )
    parser.set_defaults(command=export, html_page=html_page)

    parser = commands.add_parser("runs", help="list the runs, newest first")
    add_home(parser)
    parser.set_defaults(command=list_runs)


def _add_model(parser: argparse.ArgumentParser) -> None:
    """Add what names a model and where the answer goes."""
    parser.add_argument("model", metavar="RUN", help="id of a run, or a model's folder")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="(default: standard output)"
    )
    add_home(parser)


def predict(chosen: argparse.Namespace) -> None:
    """Predict the rows of a table and write them with the answers."""
    model, run = _find(chosen)
    path = Path(chosen.table)
    read = read_table(path, path.name, one_column=True)
    for note in read.notes:
        print(note, file=sys.stderr)
    if run is not None:
        X = run.problem.table(read.frame)
    else:
        X = _table_for(model, read.frame)
    answers = {"prediction": model.predict(X)}
    if model.task != "regression":
        proba = model.predict_proba(X)  # (n_rows, n_classes)
        answers |= {
            f"probability of {label}": proba[:, k]
            for k, label in enumerate(model.classes)
        }
    taken = [name for name in answers if name in read.frame.columns]
    if taken:
        raise ValueError(f"{path.name} has a column {taken[0]!r} already; rename it.")
    written = pd.concat(
        [read.frame, pd.DataFrame(answers, index=read.frame.index)], axis=1
    )
    _write(chosen, written.to_csv(index=False))


def export(chosen: argparse.Namespace) -> None:
    """Write a tree in the format asked for."""
    model, run = _find(chosen)
    if chosen.format == "json" and chosen.estimator is None:
        _write(chosen, json.dumps(model.to_dict(), indent=1) + "\n")
        return
    tree = _tree_of(model, chosen.estimator)
    writers = {
        "rules": lambda: to_rules(tree).to_csv(index=False),
        "text": lambda: to_text(tree).rstrip("\n") + "\n",
        "dot": lambda: to_dot(tree).rstrip("\n") + "\n",
        "json": lambda: json.dumps(tree.to_dict(), indent=1) + "\n",
        "html": lambda: chosen.html_page(tree, RunStore(chosen.home), run),
    }
    writers |= {name: partial(write, tree) for name, (_, _, write) in LANGUAGES.items()}
    _write(chosen, writers[chosen.format]())


def list_runs(chosen: argparse.Namespace) -> None:
    """Print a line a run."""
    store = RunStore(chosen.home)
    store.interrupt_dead_runs()
    runs = store.runs()
    if not runs:
        print(f"No run yet in {store.home}.")
        return
    rows = [
        (
            run.id,
            run.state,
            run.title,
            _test_score(run),
            f"{run.elapsed:.1f} s",
            time.strftime("%Y-%m-%d %H:%M", time.localtime(run.created)),
        )
        for run in runs
    ]
    rows.insert(0, ("run", "state", "title", "test score", "time", "created"))
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())


def _test_score(run: Run) -> str:
    """The headline score on the test rows, with its name."""
    name = headline(run.problem.task)
    scores = run.metrics.get("test", {})
    return f"{name} {scores[name]:.3f}" if name in scores else ""


def _find(
    chosen: argparse.Namespace,
) -> tuple[Tree | WeightedTrees | PruningPath, Run | None]:
    """Load the model that a folder or a run's id names, and its run."""
    folder = Path(chosen.model)
    if (folder / "model.json").exists():
        return load_model(folder), None
    store = RunStore(chosen.home)
    return store.model(chosen.model), store.run(chosen.model)


def _table_for(
    model: Tree | WeightedTrees | PruningPath, frame: pd.DataFrame
) -> pd.DataFrame:
    """Give a table's columns the kinds with which the model was trained."""
    kinds = {feature.column: feature.kind for feature in model.features}
    frame = as_frame(frame, list(kinds))
    return pd.DataFrame({name: cast_column(frame[name], kinds[name]) for name in kinds})


def _tree_of(model: Tree | WeightedTrees | PruningPath, estimator: int | None) -> Tree:
    """One tree of a model."""
    if isinstance(model, WeightedTrees):
        last = model.n_estimators - 1
        if estimator is None or not 0 <= estimator <= last:
            raise ValueError(
                f"The model is an ensemble; choose one of its trees with --estimator, "
                f"0 to {last}, or write all with --format json."
            )
        return model.estimator(estimator)
    if estimator is not None:
        raise ValueError("The model is one tree; leave --estimator out.")
    if not isinstance(model, PruningPath):
        return model
    tree = model.trees[model.chosen]
    if model.predictors[model.chosen] is None:
        return tree
    return replace(tree, notes=(*tree.notes, ON_TOP))


def _write(chosen: argparse.Namespace, text: str) -> None:
    """Write to the file asked for, or to standard output."""
    if chosen.output:
        Path(chosen.output).write_text(text, "utf-8")
        print(f"Wrote {chosen.output}", file=sys.stderr)
    else:
        sys.stdout.write(text)
