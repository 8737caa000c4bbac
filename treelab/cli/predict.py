"""``treelab predict``: predict the rows of a table with a trained model."""

import sys
from argparse import ArgumentTypeError, Namespace
from pathlib import Path

import pandas as pd

from treelab.cli.arguments import command, find_model, json_text
from treelab.cli.tables import read_named_table
from treelab.data.writing import FORMATS, csv_text, write_table
from treelab.evaluation.metrics import TITLES, score_text
from treelab.evaluation.predictions import (
    DEFAULT_PARTS,
    PARTS,
    empty_branch_note,
    forms_to_read,
    new_scores,
    new_table,
    parts_of,
    prediction_columns,
    reading_notes,
    trained_on_note,
    with_amounts,
    with_predictions,
)
from treelab.learners.registry import IMPORTED
from treelab.runs.store.run_store import RunStore
from treelab.trees.pruning_path import Model
from treelab.trees.words import counted, listed


def _parts(text: str) -> tuple[str, ...]:
    """Read names with commas between."""
    parts = tuple(part.strip() for part in text.split(","))
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        raise ArgumentTypeError(
            f"{unknown[0]!r} is none of {', '.join(PARTS)}; put commas between them"
        )
    return parts


@command(
    "predict",
    "predict the rows of a table with a trained model",
    f"""
    Writes the table with a column 'prediction' and, for classes, their
    probabilities beside it. Where the table holds the target, the predictions are
    scored against it. In CSV, text that a spreadsheet would run as a formula gets
    an apostrophe ahead.

    [model]
    [table]
    [output]  ends with {", ".join(f".{name}" for name in FORMATS)}
    --columns NAMES  what to write, with commas between: {", ".join(PARTS)}
        (default: {",".join(DEFAULT_PARTS)})
    --fill-absent  let columns that the table lacks count as missing
    --json  write notes and scores as JSON to stderr
    """,
    columns={"type": _parts, "default": DEFAULT_PARTS},
)
def predict(arguments: Namespace) -> None:
    """Predict the rows of a table and write them with the predictions."""
    model, run = find_model(arguments)
    absent = [part for part in arguments.columns if part not in parts_of(model)]
    if absent and arguments.columns != DEFAULT_PARTS:
        raise ValueError(
            f"--columns names {listed(absent)}, which predictions of this model have "
            f"not; they have {listed(parts_of(model))}."
        )
    problem = None if run is None else run.problem
    forms = forms_to_read(
        model, problem, lambda *of: RunStore(arguments.home).table(*of)
    )
    read, name = read_named_table(arguments, one_column=True, as_in=forms)
    table = new_table(model, read.frame, name, fill_absent=arguments.fill_absent)
    predicted = prediction_columns(model, table.X, arguments.columns)
    predicted = with_amounts(predicted, read.frame, problem)
    written = with_predictions(read.written, predicted, arguments.columns, name)
    notes = list(table.notes)
    if {"leaf", "rule"} & set(arguments.columns):
        notes += filter(None, [empty_branch_note(model, table.X)])
    notes += reading_notes(model, predicted)
    scores, note = new_scores(model, read.frame, table.X, problem)
    if scores and run is not None and run.learner != IMPORTED:
        stored = RunStore(arguments.home).table(run.problem.table_id)
        split = run.problem.split(stored)
        notes += filter(None, [trained_on_note(stored, read.frame, split)])
    _write(arguments, written)
    weighted = "" if problem is None else problem.weighted_words
    _report(arguments, notes, model, scores, note, weighted)


def _write(arguments: Namespace, frame: pd.DataFrame) -> None:
    """Write the table to the file that was named, or as CSV to standard output."""
    if arguments.output:
        write_table(frame, Path(arguments.output))
        print(f"Wrote {arguments.output}", file=sys.stderr)
    else:
        sys.stdout.write(csv_text(frame))


def _report(
    arguments: Namespace,
    notes: list[str],
    model: Model,
    scores: dict[str, float],
    note: str,
    weighted: str,
) -> None:
    """Write what was noticed, and the scores, to standard error."""
    if arguments.json:
        found = {"notes": [*notes, *([note] if note else [])], "scores": scores}
        print(json_text(found, indent=None), file=sys.stderr)
        return
    for sentence in notes:
        print(sentence, file=sys.stderr)
    if scores:
        words = ", ".join(
            f"{TITLES[name]} {score_text(name, value, model)}"
            for name, value in scores.items()
            if name in TITLES
        )
        n_rows = counted(int(scores["n_rows"]), "row")
        print(f"On {n_rows} with the target{weighted}: {words}.", file=sys.stderr)
    if note:
        print(note, file=sys.stderr)
