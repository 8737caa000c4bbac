"""The benchmarks of treelab: the papers' tables with their peers, the app under load.

    python -m benchmarks NAME --help

Run it in the checkout. How long a step of each operator takes is asked of the installed
program: ``treelab bench speed``.
"""

import argparse
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from unittest.mock import patch

from treelab.cli.main import run_command


@dataclass(frozen=True)
class Protocol:
    """Learners beside their peers on some tables.

    Attributes
    ----------
    help : str
        One line on the command line.
    splits : {"random", "folds", "quarters"}
        See ``benchmarks.runner.splits``.
    tasks : tuple of str
        Those of the tables that are measured.
    paper : str, optional
        Key of the paper whose tables are measured; None: all tables.
    max_rows : int, optional
        Larger tables are left out.
    """

    help: str
    splits: str
    tasks: tuple[str, ...]
    paper: str | None = None
    max_rows: int | None = None


PROTOCOLS = {
    "gradtree": Protocol(
        "GradTree beside CART on the paper's tables",
        "random",
        ("binary", "multiclass"),
        paper="gradtree",
    ),
    "grande": Protocol(
        "GRANDE beside xgboost and catboost on the paper's tables",
        "folds",
        ("binary",),
        paper="grande",
    ),
    "get": Protocol(
        "GET and GET-Linear beside CART and a random forest",
        "quarters",
        ("regression",),
        paper="get",
    ),
    "get-classes": Protocol(
        "GET beside CART on every table of two classes up to 10,000 rows",
        "random",
        ("binary",),
        max_rows=10_000,
    ),
    "argmin-classes": Protocol(
        "argmin trees beside CART on every table of classes up to 10,000 rows",
        "random",
        ("binary", "multiclass"),
        max_rows=10_000,
    ),
}


def option(name: str, help: str, **more):
    """Return an option of a benchmark, as ``add_argument`` takes it."""
    return name, {"help": help, **more}


DATA = option("--data", "folder with a manifest.json", type=Path, required=True)
OUT = option("--out", "JSON file to write", type=Path)
CONTINUED = option("--out", "file of results; one that exists is continued", type=Path)
TABLES = option("--tables", "names joined by commas; default: all")
LEARNERS = option("--learners", "keys joined by commas; default: all")
CONTENDERS = option("--contenders", "names joined by commas; default: all")
SEED = option("--seed", "of the first split", type=int, default=0)
SPLITS = option("--trials", "splits a table", type=int, default=1)
OF_PROTOCOLS = (
    DATA,
    option("--tables", "names joined by commas; default: the paper's"),
    option(
        "--trials",
        "splits a table, each with a random state of its own; of five folds the sixth "
        "trial has the first once more",
        type=int,
        default=5,
    ),
    SEED,
    option("--quick", "one trial, tables under 3,000 rows", action="store_true"),
    option("--contenders", "names joined by commas; default: all but the paper's own"),
    option(
        "--tuned",
        "also the learner tuned by a sweep of N trials on each split's training rows, "
        "in treelab's search space and in the paper's",
        type=int,
        default=0,
        metavar="N",
    ),
    CONTINUED,
)

# Name: one line of help, options, and the function of this package that runs it.
OTHERS: dict[str, tuple[str, tuple, str]] = {
    "argmin": (
        "argmin trees: clustering, classification, what pruning empties",
        (
            DATA,
            option("--seeds", "splits a table", type=int, default=4),
            option("--first-seed", "seed of the first split", type=int, default=0),
            option(
                "--parts",
                "which to run, joined by commas",
                default="glass,mushroom,path",
            ),
            OUT,
        ),
        "argmin.run",
    ),
    "constraints": (
        "what monotone columns cost, beside trees without them",
        (
            DATA,
            option("--table", "its name", default="credit-card"),
            option(
                "--monotone",
                "columns of the table (default: %(default)s)",
                default="PAY_0: up, LIMIT_BAL: down, PAY_AMT1: down",
            ),
            option(
                "--learners", "keys joined by commas", default="cart,gradtree,grande"
            ),
            SPLITS,
            SEED,
            CONTINUED,
        ),
        "constraints.run",
    ),
    "costs": (
        "cost of errors where a missed rare class costs ten times a false alarm, to a "
        "cost-weighted tuned CART",
        (
            DATA,
            TABLES,
            LEARNERS,
            option(
                "--max-rows",
                "larger tables are left out (default: %(default)s)",
                type=int,
                default=5_500,
            ),
            SPLITS,
            SEED,
            CONTINUED,
        ),
        "costs.run",
    ),
    "counts": (
        "Poisson deviance of counts with exposure, to scikit-learn's Poisson tree",
        (LEARNERS, SPLITS, SEED, CONTINUED),
        "counts.run",
    ),
    "deciders": (
        "GRANDE: how few trees decide test rows, and by which rule",
        (
            DATA,
            option("--table", "of two classes", default="PhishingWebsites"),
            option(
                "--where", "COLUMN=VALUE of some test rows", default="Prefix_Suffix=1"
            ),
            SPLITS,
            SEED,
            option("--weighting", "entmax15 or softmax; default: GRANDE's"),
        ),
        "deciders.run",
    ),
    "devices": (
        "default fits on the CPU and on a GPU: seconds and accuracy",
        (
            option(
                "--devices",
                "joined by commas; the last is what others are compared with "
                "(default: %(default)s)",
                default="cuda,cpu",
            ),
            option(
                "--learners",
                "keys joined by commas (default: %(default)s)",
                default="gradtree,grande,get,argmin",
            ),
            option(
                "--rows",
                "of the tables, joined by commas (default: %(default)s)",
                default="2000,20000",
            ),
            OUT,
        ),
        "devices.run",
    ),
    "first-minute": (
        "how soon a newcomer sees a curve and a tree, in a browser; exit code 1 where "
        "it takes too long",
        (),
        "first_minute.run",
    ),
    "large": (
        "time and memory of a large table: read, trained on, shown",
        (
            option("--rows", "of the table", type=int, default=1_000_000),
            option("--columns", "with the target", type=int, default=50),
            option("--classes", "of the target", type=int, default=2),
            option("--learners", "keys joined by commas", default="cart,gradtree"),
            option(
                "--file", "its format", choices=["parquet", "csv"], default="parquet"
            ),
            option(
                "--keep-caches",
                "a page finds what those before it cached, as in the app",
                action="store_true",
            ),
        ),
        "large.run",
    ),
    "losses": (
        "pinball loss of quantiles 0.1, 0.5 and 0.9 beside peers with the same loss",
        (DATA, TABLES, CONTENDERS, SPLITS, SEED, CONTINUED),
        "losses.report",
    ),
    "next-row": (
        "how soon the next row stands on Explain, and Compare after Tree",
        (
            option(
                "--home",
                "folder of a run store whose runs are shown (default: new ones)",
                type=Path,
            ),
        ),
        "next_row.run",
    ),
    "origins": (
        "whether default fits retain trained trees, on every table",
        (DATA, TABLES, LEARNERS, SEED, CONTINUED),
        "origins.report",
    ),
    "own-loss": (
        "what a loss in Python costs: a step and a fit, to the built-in loss",
        (
            option(
                "--learners",
                "keys joined by commas (default: %(default)s)",
                default="cart,gradtree,get,grande",
            ),
            SEED,
        ),
        "own_loss.run",
    ),
    "probabilities": (
        "log loss beside class frequencies, and calibration, on every table",
        (
            DATA,
            TABLES,
            CONTENDERS,
            option("--max-rows", "larger tables are left out", type=int),
            option("--trials", "splits a table", type=int, default=3),
            option("--seed", "of the first split", type=int, default=100),
            CONTINUED,
        ),
        "probabilities.report",
    ),
    "rashomon": (
        "how many trees score like a GradTree run's own",
        (
            DATA,
            option("--tables", "joined by commas", default="glass,titanic"),
            option("--tolerance", "of the score", type=float, default=0.01),
            SPLITS,
            SEED,
        ),
        "rashomon.run",
    ),
    "soak": (
        "kill, fill and damage a running app, and see what is lost",
        (
            option("--kills", "(default: 50)", type=int, default=50),
            option("--seed", "of what happens when", type=int, default=0),
            LEARNERS,
            OUT,
        ),
        "soak.run",
    ),
    "tables": (
        "read every table without help, and train every learner on it",
        (DATA, TABLES, LEARNERS, CONTINUED),
        "every_table.report",
    ),
    "ui": (
        "server time of each page on a table of 32,561 rows",
        (
            option(
                "--data",
                "folder with a manifest.json that has adult (default: a synthetic "
                "table)",
                type=Path,
            ),
            option(
                "--home",
                "folder of a run store to use again (default: none)",
                type=Path,
            ),
        ),
        "pages.run",
    ),
    "viewer": (
        "how soon the tree viewer draws, how smoothly it moves",
        (),
        "viewer.run",
    ),
    "watchers": (
        "the server while many watch one run, and start runs at once",
        (
            option("--watchers", "(default: 20)", type=int, default=20),
            option(
                "--polls", "of each, one a second (default: 60)", type=int, default=60
            ),
            option("--starters", "(default: 8)", type=int, default=8),
        ),
        "watchers.run",
    ),
}


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all benchmarks; each sets ``command`` to a function."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    names = parser.add_subparsers(metavar="NAME", required=True)
    for name, protocol in PROTOCOLS.items():
        _add(names, name, protocol.help, OF_PROTOCOLS, partial(_compare, name))
    for name, (help_line, options, place) in OTHERS.items():
        _add(names, name, help_line, options, partial(_call, place))
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one benchmark and return its exit code; see ``treelab.cli.main.main``."""
    # Its stores are files of its own, never those on a server.
    with patch.dict(os.environ, {"TREELAB_STORE": ""}):
        return run_command(build_parser(), arguments)


def _add(names, name: str, help_line: str, options, command: Callable) -> None:
    """Add a benchmark to the parser."""
    parser = names.add_parser(name, help=help_line)
    for flag, more in options:
        parser.add_argument(flag, **more)
    parser.set_defaults(command=command)


def _call(place: str, chosen: Namespace) -> int:
    """Run a benchmark's function, which takes the options."""
    module, name = place.split(".")
    return getattr(import_module(f"benchmarks.{module}"), name)(chosen)


def _compare(name: str, chosen: Namespace) -> int:
    """Measure contenders on tables and print."""
    from benchmarks.contenders import CONTENDERS
    from benchmarks.runner import Results, measure
    from benchmarks.tables import choose, read_manifest
    from benchmarks.tuned import tuned_contenders

    protocol = PROTOCOLS[name]
    tables = choose(
        read_manifest(chosen.data), protocol.paper, protocol.tasks, chosen.tables
    )
    max_rows = 2999 if chosen.quick else protocol.max_rows
    if max_rows is not None:
        tables = [table for table in tables if len(table.load()[1]) <= max_rows]
    contenders = _pick_contenders(CONTENDERS[name], chosen.contenders)
    if chosen.tuned:
        contenders += tuned_contenders(name.removesuffix("-classes"), chosen.tuned)
    out = chosen.out or Path(f"bench-{name}.jsonl")
    results = Results(out)
    trials = 1 if chosen.quick else chosen.trials
    measure(
        tables,
        contenders,
        results,
        protocol=protocol.splits,
        trials=trials,
        seed=chosen.seed,
    )
    score = "R2" if protocol.tasks == ("regression",) else "macro F1"
    print(f"Means over {trials} trial(s) of test {score}.")
    means = _print_means(results.frame(), tables, protocol, contenders[0].name)
    summary_path = out.with_suffix(".summary.json")
    summary_path.write_text(means.to_json(orient="index", indent=1))
    print(f"\nEvery result: {out}; means of tables: {summary_path}")
    for row in results.rows:
        if row["error"]:
            print(f"Failed: {row['table']}, {row['contender']}: {row['error']}")
    return 0


def _print_means(results, tables, protocol: Protocol, first: str):
    """Print the means by table and by contender; return those by table."""
    from benchmarks.summary import by_contender, by_table, differences

    means = by_table(results, tables, protocol.paper)
    parts = {
        "By table; leaves; seconds a fit": means,
        "Over tables, as fitted and at a number of leaves (se: standard error over "
        "splits); of the retained models the share that gradient descent trained, the "
        "share that equals its start, and the share of splits changed": by_contender(
            results, tables
        ),
        f"{first} less each other, on the same splits": differences(
            results, tables, first
        ),
    }
    for title, part in parts.items():
        print(f"\n{title}\n\n{part.round(3).to_string()}")
    return means


def _pick_contenders(known, names: str | None):
    """Pick contenders by name; print or raise which package one lacks."""
    if names is None:
        asked_for = (c for c in known if not c.on_request)
        picked = [c for c in asked_for if "-paper" not in c.name]
        for contender in picked:
            if contender.is_missing:
                print(f"Left out {contender.name}: {contender.install_command}")
        return [c for c in picked if not c.is_missing]
    by_name = {contender.name: contender for contender in known}
    picked = []
    for name in names.split(","):
        if name not in by_name:
            raise ValueError(
                f"There is no contender {name!r}; there are {', '.join(by_name)}."
            )
        if by_name[name].is_missing:
            raise ValueError(f"{name} needs: {by_name[name].install_command}")
        picked.append(by_name[name])
    return picked


if __name__ == "__main__":
    sys.exit(main())
