"""Reading the table that a command names, and what to predict of it."""

import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd

from treelab.data.columns import column_kind, listed, useful_columns
from treelab.data.encoding import parse_least
from treelab.data.openml import PREFIX, read_openml
from treelab.data.problem import (
    Problem,
    folds_problem,
    make_problem,
    pairs,
    several_targets,
    split_problem,
    weighted_problem,
)
from treelab.data.problem_check import check_problem
from treelab.data.reading.read_table import ReadResult, read_table
from treelab.data.split_by import with_test_file
from treelab.evaluation.predictions import n_rows_of
from treelab.learners.registry import complete_settings
from treelab.runs.store.run_store import RunStore, default_home
from treelab.trees.cells import CellForm, forms_of
from treelab.trees.constraints import Constraints
from treelab.trees.date_parts import PARTS, first_day, looks_like_dates, part_name
from treelab.trees.words import counted

OF_FILE = ("sheet", "header", "delimiter", "decimal", "encoding", "query")


def read_named_table(
    arguments: Namespace,
    *,
    one_column: bool = False,
    as_in: Mapping[str, CellForm] | None = None,
) -> tuple[ReadResult, str]:
    """Read the table of a command with ``[table]``, and print what was unusual.

    OSError or ValueError if it cannot be read. It may have one column only where that
    is allowed; ``as_in`` says how the table was written that a model learned from, see
    ``read_table``. Returns it with the file's name without its folder.
    """
    of_file: dict = {name: getattr(arguments, name) for name in OF_FILE}
    of_cells = _said_of_cells(arguments)
    if arguments.table.startswith(PREFIX):
        home = Path(getattr(arguments, "home", None) or default_home())
        named = arguments.table.removeprefix(PREFIX)
        if given := [name for name, said in of_file.items() if said is not None]:
            raise ValueError(
                f"--{given[0]} is of a file, and {arguments.table} is none: leave "
                f"--{given[0]} out."
            )
        read, title = read_openml(named, home / "openml", as_in, **of_cells)
    else:
        title = Path(arguments.table).name
        read = read_table(
            Path(arguments.table),
            title,
            as_in=as_in,
            one_column=one_column,
            **of_file,
            **of_cells,
        )
    for note in read.notes:
        print(note, file=sys.stderr)
    return read, title


def _said_of_cells(arguments: Namespace) -> dict:
    """Return what a command with ``[problem]`` says of cells; {} for another."""
    if "missing" not in arguments:
        return {}
    missing: dict[str, list[str]] = {}
    for text in arguments.missing:
        column, _, cell = text.rpartition(":")
        missing.setdefault(column, []).append(cell)
    named = (text.rpartition(":") for text in getattr(arguments, "kind", ()))
    texts = [column for column, _, kind in named if column and kind == "category"]
    how = {"keep_na": arguments.keep_na, "as_text": [*arguments.as_text, *texts]}
    return {"missing": missing, **how}


def read_problem(
    arguments: Namespace, as_in: Mapping[str, CellForm] | None = None
) -> tuple[pd.DataFrame, Problem]:
    """Read the table of a command with ``[problem]``, and what to predict of it.

    The table is not stored yet, see ``store_problem``: a command that is refused leaves
    nothing behind. ``as_in`` is that of ``read_table``. OSError or ValueError if the
    table cannot be read, lacks the target, or cannot be learned from.
    """
    read, name = read_named_table(arguments, as_in=as_in)
    frame = read.frame
    way, _, split_column = arguments.split.partition(":")
    of_test = {
        "sheet": arguments.test_sheet,
        "header": arguments.test_header,
        "query": arguments.test_query,
    }
    if arguments.test_file is not None:
        if way != "random":
            raise ValueError("Give --split or --test-file, not both.")
        path = Path(arguments.test_file)
        test = read_table(
            path, path.name, as_in=forms_of(frame), one_column=True, **of_test
        )
        for note in test.notes:
            print(f"{path.name}: {note}", file=sys.stderr)
        both, split_column = with_test_file(frame, test.frame, path.name)
        if n_same := n_rows_of(frame, test.frame, frame.index):
            print(
                f"At least {n_same:,} of the {counted(len(test.frame), 'row')} of "
                f"{path.name} {'stands' if n_same == 1 else 'stand'} in {name}, too, "
                "so test scores may be too good.",
                file=sys.stderr,
            )
        frame = both
        way = "given"
    elif any(said is not None for said in of_test.values()):
        raise ValueError(
            "--test-sheet, --test-header and --test-query are of --test-file: name the "
            "file, too."
        )
    target, *more = arguments.target
    _refuse_unknown(arguments.target, frame, name)
    kinds = _kinds(arguments.kind, arguments.as_text, frame, name)
    wanted = {*useful_columns(frame, target), *kinds} - {target}
    problem = make_problem(
        frame,
        target,
        table_name=name,
        columns=[str(name) for name in frame.columns if str(name) in wanted],
        # Few counts look like classes, but what is divided is a number.
        task=arguments.task or ("regression" if arguments.exposure or more else None),
        seed=arguments.seed,
    )
    problem = several_targets(problem, more)
    if split_column and way != "random":
        problem = split_problem(problem, way, split_column)
    elif arguments.split != "random":
        raise ValueError(f"--split takes WAY:COLUMN; got {arguments.split!r}.")
    weight, exposure = arguments.weight or "", arguments.exposure or ""
    problem = weighted_problem(problem, weight, exposure)
    if (n_folds := getattr(arguments, "folds", 0)) != 0:
        problem = folds_problem(problem, n_folds)
    _refuse_unknown(arguments.without, frame, name)
    if twice := {*arguments.target} & {*arguments.without}:
        raise ValueError(f"--without leaves {min(twice)!r} out, which is the target.")
    left = (each for each in problem.columns if each not in arguments.without)
    problem = replace(problem, columns=tuple(left))
    if parts := _date_parts(arguments.dates, frame, name):
        columns = tuple(dict.fromkeys((*problem.columns, *parts)))
        problem = replace(problem, columns=columns)
    if own := [name for name in problem.targets if name in kinds]:
        raise ValueError(
            f"--kind is for columns to predict from, and {own[0]!r} is a target: name "
            "its cells that are no numbers by --missing."
        )
    if unread := [column for column in kinds if column not in problem.columns]:
        raise _not_predicted_from("--kind", unread[0], problem)
    problem = replace(problem, kinds=pairs(kinds))
    problem = replace(problem, rare=_rare(arguments.rare, frame, problem, name))
    if (truth := getattr(arguments, "truth", None)) is not None:
        columns = tuple(column for column in problem.columns if column != truth)
        problem = replace(problem, columns=columns, is_surrogate=True, truth=truth)
    for finding in check_problem(frame, problem):
        if finding.level == "error":
            raise ValueError(finding.sentence)
        print(finding.sentence, file=sys.stderr)
    return frame, problem


def check_settings(
    learner: str, settings: dict, frame: pd.DataFrame, problem: Problem
) -> None:
    """Refuse settings that the learner has not, or whose names the table has not.

    ValueError for a setting, a column or a class that does not exist.
    """
    complete_settings(learner, problem.task, settings)
    asked = Constraints.read(settings.get("constraints"))
    asked.check_columns(problem.columns)
    classes = None
    if problem.task != "regression":
        classes = sorted(problem.labels(frame).unique().tolist())
    asked.check_classes(classes)


def _refuse_unknown(columns: Iterable[str], frame: pd.DataFrame, name: str) -> None:
    """Raise ValueError where a table lacks a column that was named."""
    for column in columns:
        if column not in frame.columns:
            raise ValueError(
                f"{name} has no column {column!r}; it has "
                f"{listed([str(each) for each in frame.columns])}."
            )


def _not_predicted_from(option: str, column: str, problem: Problem) -> ValueError:
    """Return the error of an option that names a column which is not predicted from."""
    return ValueError(
        f"{option} names {column!r}, which is left out, or not predicted from for "
        f"another reason; these are: {listed(list(problem.columns))}."
    )


def _kinds(
    texts: list[str], as_text: list[str], frame: pd.DataFrame, name: str
) -> dict[str, str]:
    """Return the kind of each column that ``--kind`` names.

    ValueError for none, for two, or for a number that ``--as-text`` reads as text.
    """
    found: dict[str, str] = {}
    for text in texts:
        column, _, kind = text.rpartition(":")
        if not column or kind not in ("number", "category"):
            raise ValueError(
                f"--kind takes COLUMN:number or COLUMN:category, got {text!r}."
            )
        if found.setdefault(column, kind) != kind:
            raise ValueError(f"--kind names two kinds of {column!r}: leave one out.")
        if kind == "number" and column in as_text:
            raise ValueError(
                f"--kind reads {column!r} as number, --as-text as text: leave one out."
            )
    _refuse_unknown(found, frame, name)
    return found


def _rare(
    texts: list[str], frame: pd.DataFrame, problem: Problem, name: str
) -> tuple[tuple[str, float], ...]:
    """Return the rows that a value of each column that ``--rare`` names needs.

    ValueError if a column is absent, not predicted from or holds numbers, or the rows
    are no number of rows.
    """
    own = [column for column in problem.columns if column in frame.columns]
    kinds = {column: column_kind(frame[column]) for column in own}
    kinds |= dict(problem.kinds)
    found = {}
    for text in texts:
        column, _, least = text.rpartition(":")
        if column:
            _refuse_unknown([column], frame, name)
            if column not in kinds:
                raise _not_predicted_from("--rare", column, problem)
            if kinds[column] != "category":
                raise ValueError(f"--rare is for categories; {column!r} holds numbers.")
        named = [column] if column else [c for c in kinds if kinds[c] == "category"]
        found.update(dict.fromkeys(named, parse_least(least)))
    return tuple((column, least) for column, least in found.items() if least)


def _date_parts(texts: list[str], frame: pd.DataFrame, name: str) -> list[str]:
    """Return the columns that ``--dates`` asks for.

    ValueError if a column is absent or holds no dates, or a part is unknown.
    """
    found = []
    for text in texts:
        column, _, parts = text.rpartition(":")
        unknown = [part for part in parts.split(",") if part not in PARTS]
        if not column or unknown:
            raise ValueError(
                f"--dates takes COLUMN:PARTS, parts among {', '.join(PARTS)} with "
                f"commas between; got {text!r}."
            )
        if column not in frame.columns or not looks_like_dates(frame[column]):
            raise ValueError(f"{name} has no column {column!r} of dates.")
        first = first_day(frame[column])
        found += [part_name(part, column, first) for part in parts.split(",")]
    return found


def store_problem(store: RunStore, frame: pd.DataFrame, problem: Problem) -> Problem:
    """Store the table of a problem; return the problem of the stored table."""
    table_id = store.add_table(frame, problem.table_name)
    return replace(problem, table_id=table_id)
