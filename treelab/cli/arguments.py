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
from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import dedent, fill
from typing import Any

from treelab.data.columns import TASKS
from treelab.data.writing import write_whole
from treelab.runs.jobs.import_model import read_model
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore, default_home
from treelab.trees.date_parts import PARTS
from treelab.trees.pruning_path import Model
from treelab.trees.words import joined

EXIT_CODES = """exit codes: 0 done; 1 done, but all is not well (doctor);
2 refused, a sentence on standard error says why; 130 interrupted"""

EXAMPLES = {  # by command, in the order of the help
    "app": ("app", "app --port 8600 -- --server.headless true"),
    "train": (
        "train table.csv --target price",
        "train table.csv --target ill --learner grande --set n_estimators=256",
        "train visits.csv --target ill --split group:patient --dates day:month,weekday",
        "train old.csv --target price --test-file new.csv --json",
    ),
    "sweep": (
        "sweep table.csv --target price",
        "sweep table.csv --target ill --learner cart --trials 60 --minutes 10",
        "sweep table.csv --target price --space max_depth=2..8 --json",
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
    "edit": ("edit RUN -o edits.json", "edit RUN --log edits.json --train gradtree"),
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
    "runs": ("runs", "runs --json | jq '.[].metrics.test'"),
    "import": ("import model.json table.csv --target price",),
    "worker": ("worker --slot cpu:0",),
    "doctor": ("doctor", "doctor --repair", "doctor --json"),
    "backup": ("backup all.zip",),
    "restore": ("restore all.zip --home copy",),
    "users": ("users --admin ann@example.org", "users --audit"),
    "bench": ("bench speed", "bench speed --steps 20 --out speed.json"),
    "completion": (
        "completion bash > ~/.local/share/bash-completion/completions/treelab",
    ),
}


def _seed(text: str) -> int:
    """Read a seed that every generator of random numbers takes."""
    if not text.isdecimal() or int(text) >= 2**32:
        raise ArgumentTypeError(f"{text!r} is no whole number from 0 to {2**32 - 1}")
    return int(text)


def _device(text: str) -> str:
    """Read the name of a device, whether it is there or not."""
    if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", text):
        raise ArgumentTypeError(f"{text!r} is none of auto, cpu, cuda and cuda:N")
    return text


# What else there is to say of the shared arguments.
_SHARED_HOW: dict[str, Any] = {
    "header": int,
    "test_header": int,
    "delimiter": lambda text: text.replace(r"\t", "\t"),
    "decimal": {"choices": (".", ",")},
    "keep_na": {"nargs": "?", "const": ""},
    "target": {"required": True, "action": "append"},
    "task": {"choices": TASKS},
    "split": {"default": "random"},
    "seed": {"type": _seed, "default": 0},
    "set": {"dest": "settings"},
    "device": {"type": _device, "default": "auto"},
    "name": {"default": ""},
}


def _shared(name: str, said: str = "") -> str:
    """Return the arguments that several commands have, by what they are of."""
    texts = {
        "home": f"""
        --home DIR  folder of the run store (default: TREELAB_HOME, else
            {default_home()})
        """,
        "table": """
        table TABLE  a file: CSV, TSV, Excel, ODS, Parquet, Arrow, JSON lines, ARFF,
            Stata, SPSS, SAS, SQLite or DuckDB; may be gzipped or zipped; or openml:NAME
            or openml:NUMBER, fetched from openml.org and cached
        [file]
        """,
        "file": """
        --sheet NAME  sheet of a workbook, or table of a database (default: the only
            one)
        --header N  line or row that names the columns; 0 if none does (default:
            found out)
        --delimiter C  between columns of a text, such as ; or \\t (default: found)
        --decimal SIGN  decimal sign of a text, . or , (default: found out for each
            column)
        --encoding ENCODING  of a text, such as cp1252 (default: found out)
        --query SELECT  what to read from an SQLite or DuckDB database
        """,
        "problem": f"""
        [table]
        --missing [COLUMN:]CELL ...  cells that have no value besides empty ones, NA
            and the like, such as -999 or income:unknown
        --keep-na COLUMN ...  NA, null, ? and the like are values as others, in this
            column or in all
        --as-text COLUMN ...  read a column as categories as written, 7.10 not being
            7.1
        --target COLUMN  the column to predict; may be repeated: one tree then
            predicts several numbers (CART, GradTree and GET)
        --without COLUMN ...  a column that is not predicted from
        --kind COLUMN:KIND ...  predict from a column as number, so that cells which
            show none are missing, or as category, as --as-text does
        --task  (default: the one the target's values suggest)
        --dates COLUMN:PARTS ...  use parts of a column's dates, too, with commas
            between: {", ".join(PARTS)}; such as admitted:month,weekday
        --rare [COLUMN:]LEAST ...  categories that fewer training rows hold become
            one: a number of rows, or a percentage of them, such as City:10, or 1%%
            for every column
        --split WAY:COLUMN  how rows are split: random (default), group:COLUMN (rows
            of a value stay together), time:COLUMN (the latest are test rows), or
            given:COLUMN (it says train, valid or test)
        --weight COLUMN  a column that says what each row counts in training and
            scores; it is not predicted from
        --exposure COLUMN  of amounts or counts: a column, such as the years of a
            policy, by which the target is divided; rows are weighted by it, and it
            is not predicted from
        --test-file TABLE  a table of test rows with the same columns, in place of a
            split
        --test-sheet NAME  sheet of the test file, or table of a database (default: the
            only one)
        --test-header N  its line or row that names the columns; 0 if none does
            (default: found out)
        --test-query SELECT  what to read from it, an SQLite or DuckDB database
        [seed]
        """,
        "seed": "--seed  random seed of the data split and of the training",
        "settings": f"--set NAME=VALUE ...  a setting of the learner, such as {said}",
        "device": "--device  auto, cpu, cuda or cuda:N (default: auto)",
        "run": "--name  title of the run\n[home]",
        "model": "model RUN  id of a run, or a model's folder or file\n[home]",
        "output": f"-o,--output FILE  {said} (default: standard output)",
    }
    return texts[name]


COMMANDS: dict[str, Callable] = {}  # what adds a command to others


def command(name: str, help: str, text: str, /, **how: Any) -> Callable:
    """Declare the function below as a command.

    The text describes it, if at all, and after an empty line has its arguments, see
    ``_add_arguments``; its examples stand below its help.
    """
    *description, options = dedent(text).strip().split("\n\n")
    calls = "\n".join(f"  treelab {line}" for line in EXAMPLES[name])

    def declare(run: Callable) -> Callable:
        def add(commands: Any) -> None:
            parser = commands.add_parser(
                name,
                help=help,
                description=fill(" ".join(description), 79),
                epilog=f"examples:\n{calls}\n\n{EXIT_CODES}",
                formatter_class=RawDescriptionHelpFormatter,
            )
            parser.set_defaults(command=run)
            _add_arguments(parser, options, how)

        COMMANDS[name] = add
        return run

    return declare


def _add_arguments(parser: ArgumentParser, text: str, how: dict[str, Any]) -> None:
    """Add arguments as the help shows them: a line each, two spaces before its help.

    "--set NAME=VALUE ..." may be repeated; an option without a value is a flag, unless
    ``how`` has more: the type of an argument, or all else that there is to say of it.
    Lines that are indented go on. What several commands have stands in brackets, as
    "[home]"; see ``_shared``. Of lines that begin with "| " at most one may be given,
    of those with "! " one has to be.
    """
    groups: dict[str, Any] = {}
    for line in re.split(r"\n(?=\S)", dedent(text).strip()):
        words, *rest = re.split("  +", line.replace("\n", " "), maxsplit=1)
        help = " ".join("".join(rest).split())
        if words.startswith("["):
            _add_arguments(parser, _shared(words[1:-1], help), _SHARED_HOW)
            continue
        to: Any = parser
        if (mark := words[0]) in "|!":
            if mark not in groups:
                groups[mark] = parser.add_mutually_exclusive_group(required=mark == "!")
            words, to = words[2:], groups[mark]
        names, _, value = words.partition(" ")
        own = how.get(names.split(",")[-1].lstrip("-").replace("-", "_"), {})
        own = {**own} if isinstance(own, dict) else {"type": own}
        if value.endswith(" ..."):
            own = {"action": "append", "default": [], **own}
            value, help = value.removesuffix(" ..."), f"{help}; may be repeated"
        if value:
            own["metavar"] = value
        elif names.startswith("-") and not own:
            own["action"] = "store_true"
        to.add_argument(*names.split(","), help=help, **own)


def find_model(arguments: Namespace) -> tuple[Model, Run | None]:
    """Load the model of a command with ``[model]``, and its run.

    There is none where a folder was named. LookupError where there is no such run, or
    it has no model.
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


def format_of(arguments: Namespace, by_ending: Mapping[str, str], other: str) -> str:
    """Return the format that ``--format`` names, else what the output's ending means.

    ``other`` is that of a file without an ending, and of standard output. ValueError of
    another ending, as what opens such files expects what they are called.
    """
    ending = Path(arguments.output or "").suffix.lower().removeprefix(".")
    if arguments.format or not ending:
        return arguments.format or other
    if ending not in by_ending:
        raise ValueError(
            f"The ending .{ending} is of no format here, as "
            f"{joined([f'.{own}' for own in by_ending])} are: change it, or say "
            "--format."
        )
    return by_ending[ending]


def write_output(arguments: Namespace, content: str | bytes) -> None:
    """Write to the file of a command with ``[output]``, or to standard output.

    ValueError if no file is named for bytes, which a terminal cannot show.
    """
    if arguments.output:
        written = content.encode() if isinstance(content, str) else content
        write_whole(Path(arguments.output), written)
        print(f"Wrote {arguments.output}", file=sys.stderr)
    elif isinstance(content, bytes):
        raise ValueError(f"--format {arguments.format} needs a file: add -o FILE.")
    else:
        sys.stdout.write(content)


def printable(text: str) -> str:
    """Return a text with its control characters spelled out, and on one line.

    A terminal would obey them: colours, a cleared screen, a title, lines of its own.
    """
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )
