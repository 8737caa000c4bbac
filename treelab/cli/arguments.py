"""Arguments that commands share."""

import json
import re
import sys
from argparse import (
    ArgumentParser,
    ArgumentTypeError,
    Namespace,
    RawDescriptionHelpFormatter,
)
from pathlib import Path

from treelab.data.columns import TASKS
from treelab.runs.jobs.import_model import read_model
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore, default_home
from treelab.trees.date_parts import PARTS
from treelab.trees.pruning_path import Model


def add_home(parser: ArgumentParser) -> None:
    """Add ``--home``, the run store's folder."""
    parser.add_argument(
        "--home",
        metavar="DIR",
        help=f"folder of the run store (default: TREELAB_HOME, else {default_home()})",
    )


def add_table(parser: ArgumentParser) -> None:
    """Add the table's file, and what to read of it."""
    parser.add_argument(
        "table",
        metavar="TABLE",
        help="a file: CSV, TSV, Excel, ODS, Parquet, Arrow, JSON lines, ARFF, Stata, "
        "SPSS, SAS, SQLite or DuckDB; may be gzipped or zipped; or openml:NAME or "
        "openml:NUMBER, fetched from openml.org and cached",
    )
    add_file_options(parser)


def add_file_options(parser: ArgumentParser) -> None:
    """Add what to read of a table's file."""
    parser.add_argument(
        "--sheet",
        metavar="NAME",
        help="sheet of a workbook, or table of a database (default: the only one)",
    )
    parser.add_argument(
        "--header",
        metavar="N",
        type=int,
        help="line or row that names the columns; 0 if none does (default: found out)",
    )
    parser.add_argument(
        "--delimiter",
        metavar="C",
        type=lambda text: text.replace(r"\t", "\t"),
        help=r"between columns of a text, such as ; or \t (default: found)",
    )
    parser.add_argument(
        "--decimal",
        choices=(".", ","),
        metavar="SIGN",
        help="decimal sign of a text, . or , (default: found out for each column)",
    )
    parser.add_argument(
        "--encoding", help="of a text, such as cp1252 (default: found out)"
    )
    parser.add_argument(
        "--query",
        metavar="SELECT",
        help="what to read from an SQLite or DuckDB database",
    )


def add_reading(parser: ArgumentParser) -> None:
    """Add what a person may say of the cells of a table to learn from."""
    parser.add_argument(
        "--missing",
        metavar="[COLUMN:]CELL",
        action="append",
        default=[],
        help="cells that have no value besides empty ones, NA and the like, such as "
        "-999 or income:unknown; may be repeated",
    )
    parser.add_argument(
        "--keep-na",
        metavar="COLUMN",
        nargs="?",
        const="",
        action="append",
        default=[],
        help="NA, null, ? and the like are values as others, in this column or in all; "
        "may be repeated",
    )
    parser.add_argument(
        "--as-text",
        metavar="COLUMN",
        action="append",
        default=[],
        help="read a column as categories as written, 7.10 not being 7.1; may be "
        "repeated",
    )


def add_problem(parser: ArgumentParser) -> None:
    """Add a table and what to predict of it."""
    add_table(parser)
    add_reading(parser)
    parser.add_argument(
        "--target",
        metavar="COLUMN",
        required=True,
        action="append",
        help="the column to predict; may be repeated: one tree then predicts several "
        "numbers (CART, GradTree and GET)",
    )
    parser.add_argument(
        "--without",
        metavar="COLUMN",
        action="append",
        default=[],
        help="a column that is not predicted from; may be repeated",
    )
    parser.add_argument(
        "--kind",
        metavar="COLUMN:KIND",
        action="append",
        default=[],
        help="predict from a column as number, so that cells which show none are "
        "missing, or as category, as --as-text does; may be repeated",
    )
    parser.add_argument(
        "--task", choices=TASKS, help="(default: the one the target's values suggest)"
    )
    parser.add_argument(
        "--dates",
        metavar="COLUMN:PARTS",
        action="append",
        default=[],
        help="use parts of a column's dates, too, with commas between: "
        f"{', '.join(PARTS)}; such as admitted:month,weekday; may be repeated",
    )
    parser.add_argument(
        "--rare",
        metavar="[COLUMN:]LEAST",
        action="append",
        default=[],
        help="categories that fewer training rows hold become one: a number of rows, "
        "or a percentage of them, such as City:10, or 1%% for every column; may be "
        "repeated",
    )
    parser.add_argument(
        "--split",
        metavar="WAY:COLUMN",
        default="random",
        help="how rows are split: random (default), group:COLUMN (rows of a value stay "
        "together), time:COLUMN (the latest are test rows), or given:COLUMN (it says "
        "train, valid or test)",
    )
    parser.add_argument(
        "--weight",
        metavar="COLUMN",
        help="a column that says what each row counts in training and scores; it is "
        "not predicted from",
    )
    parser.add_argument(
        "--exposure",
        metavar="COLUMN",
        help="of amounts or counts: a column, such as the years of a policy, by which "
        "the target is divided; rows are weighted by it, and it is not predicted from",
    )
    parser.add_argument(
        "--test-file",
        metavar="TABLE",
        help="a table of test rows with the same columns, in place of a split",
    )
    add_seed(parser)


def add_seed(parser: ArgumentParser) -> None:
    """Add ``--seed``."""
    parser.add_argument(
        "--seed",
        type=_seed,
        default=0,
        help="random seed of the data split and of the training",
    )


def _seed(text: str) -> int:
    """Read a seed that every generator of random numbers takes."""
    if not text.isdecimal() or int(text) >= 2**32:
        raise ArgumentTypeError(f"{text!r} is no whole number from 0 to {2**32 - 1}")
    return int(text)


def add_settings(parser: ArgumentParser, example: str) -> None:
    """Add ``--set``, with an example for its help."""
    parser.add_argument(
        "--set",
        dest="settings",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help=f"a setting of the learner, such as {example}; may be repeated",
    )


def add_device(parser: ArgumentParser) -> None:
    """Add ``--device``."""
    parser.add_argument(
        "--device",
        type=_device,
        default="auto",
        help="auto, cpu, cuda or cuda:N (default: auto)",
    )


def _device(text: str) -> str:
    """Read the name of a device, whether it is there or not."""
    if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", text):
        raise ArgumentTypeError(f"{text!r} is none of auto, cpu, cuda and cuda:N")
    return text


def add_run(parser: ArgumentParser) -> None:
    """Add the title of a new run, and the store for it."""
    parser.add_argument("--name", default="", help="title of the run")
    add_home(parser)


def add_json(parser: ArgumentParser, help: str) -> None:
    """Add ``--json``, for machines."""
    parser.add_argument("--json", action="store_true", help=help)


def add_model(parser: ArgumentParser) -> None:
    """Add a trained model, and the store that has its run."""
    parser.add_argument(
        "model", metavar="RUN", help="id of a run, or a model's folder or file"
    )
    add_home(parser)


def add_output(parser: ArgumentParser, kinds: str = "") -> None:
    """Add the file to write, and what kinds of file there are."""
    default = "(default: standard output)"
    parser.add_argument(
        "-o", "--output", metavar="FILE", help=f"{kinds} {default}".strip()
    )


# What stands at the end of a command's help: calls that can be copied.


EXIT_CODES = """exit codes: 0 done; 1 done, but all is not well (doctor);
2 refused, a sentence on standard error says why; 130 interrupted"""

EXAMPLES = {
    "app": ("app", "app --port 8600 -- --server.headless true"),
    "train": (
        "train table.csv --target price",
        "train table.csv --target ill --learner grande --set n_estimators=256",
        "train visits.csv --target ill --split group:patient --dates day:month,weekday",
        "train old.csv --target price --test-file new.csv --json",
    ),
    "cluster": ("cluster table.csv --set depth=3",),
    "predict": (
        "predict RUN new.csv -o predicted.xlsx",
        "predict RUN new.csv --columns prediction,leaf,rule",
        "predict model.treelab new.parquet -o out.parquet --fill-absent",
    ),
    "explain": (
        "explain RUN --row 3",
        "explain RUN --row 3 --json",
        "explain RUN --simple-rules > rules.csv",
    ),
    "export": (
        "export RUN --format html -o tree.html",
        "export RUN --format model -o model.treelab",
        "export RUN --format onnx --estimator 3 -o tree.onnx",
    ),
    "report": (
        "report RUN OTHER -o comparison.html",
        "report RUN --format md -o card.md",
    ),
    "compare": ("compare RUN OTHER", "compare RUN OTHER --json"),
    "sweep": (
        "sweep table.csv --target price",
        "sweep table.csv --target ill --learner cart --trials 60 --minutes 10",
        "sweep table.csv --target price --space max_depth=2..8 --json",
    ),
    "edit": ("edit RUN -o edits.json", "edit RUN --log edits.json --train gradtree"),
    "bench": ("bench speed", "bench speed --steps 20 --out speed.json"),
    "runs": ("runs", "runs --json | jq '.[].metrics.test'"),
    "import": ("import model.json table.csv --target price",),
    "doctor": ("doctor", "doctor --repair", "doctor --json"),
    "worker": ("worker --slot cpu:0",),
    "backup": ("backup all.zip",),
    "restore": ("restore all.zip --home copy",),
    "users": ("users --admin ann@example.org", "users --audit"),
    "completion": (
        "completion bash > ~/.local/share/bash-completion/completions/treelab",
    ),
}


def add_examples(name: str, parser: ArgumentParser) -> None:
    """Put a command's examples, where there are any, below its help."""
    lines = EXAMPLES.get(name, ())
    if lines:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.description = _filled(parser.description)
        calls = "\n".join(f"  treelab {line}" for line in lines)
        parser.epilog = f"examples:\n{calls}\n\n{EXIT_CODES}"


def _filled(description: str | None) -> str | None:
    """Break a description into lines, which the formatter leaves as they are."""
    from textwrap import fill

    return None if description is None else fill(description, 79)


# Finding the saved model that a command names, and writing what is made of it.


def find_model(arguments: Namespace) -> tuple[Model, Run | None]:
    """Load the model of a command with ``add_model``.

    Returns
    -------
    model : Tree, WeightedTrees or PruningPath
    run : Run or None
        Its run; None where a folder was named.

    Raises
    ------
    LookupError
        If there is no such run, or it has no model.
    """
    folder = Path(arguments.model)
    if (folder / "model.json").exists() or folder.is_file():
        return read_model(folder), None
    store = RunStore(arguments.home)
    return store.model(arguments.model), store.run(arguments.model)


def json_text(facts: dict | list, indent: int | None = 1) -> str:
    """Write facts as JSON, numpy's numbers as others; what is not known is null.

    JSON has no NaN, on which other programs than Python's end.
    """
    text = json.dumps(facts, default=lambda own: getattr(own, "tolist", own.__str__)())
    return json.dumps(json.loads(text, parse_constant=lambda _: None), indent=indent)


def write_output(arguments: Namespace, content: str | bytes) -> None:
    """Write to the file of a command with ``add_output``, or to standard output.

    Raises
    ------
    ValueError
        If no file is named for bytes, which a terminal cannot show.
    """
    if arguments.output:
        path = Path(arguments.output)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content, "utf-8")
        print(f"Wrote {arguments.output}", file=sys.stderr)
    elif isinstance(content, bytes):
        raise ValueError(f"--format {arguments.format} needs a file: add -o FILE.")
    else:
        sys.stdout.write(content)


# Text of other people on a terminal, which obeys some characters.


def printable(text: str) -> str:
    """Return a text with its control characters spelled out, and on one line.

    A terminal would obey them: colours, a cleared screen, a title, lines of its own.
    """
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )
