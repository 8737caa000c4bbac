"""The subcommands of ``python -m treelab bench``."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from treelab.bench.soak.command import add_soak
from treelab.bench.ui.command import UI_COMMANDS


@dataclass(frozen=True)
class Benchmark:
    """A protocol on some tables.

    Attributes
    ----------
    help : str
        One line on the command line.
    protocol : {"random", "folds", "quarters"}
        See `splits`.
    tasks : tuple of str
        Those of the tables that are measured.
    paper : str, optional
        Key of the paper whose tables are measured; None: all tables.
    max_rows : int, optional
        Larger tables are left out.
    """

    help: str
    protocol: str
    tasks: tuple[str, ...]
    paper: str | None = None
    max_rows: int | None = None


BENCHMARKS = {
    "gradtree": Benchmark(
        "GradTree beside CART on the paper's tables",
        "random",
        ("binary", "multiclass"),
        paper="gradtree",
    ),
    "grande": Benchmark(
        "GRANDE beside xgboost and catboost on the paper's tables",
        "folds",
        ("binary",),
        paper="grande",
    ),
    "get": Benchmark(
        "GET and GET-Linear beside CART and a random forest",
        "quarters",
        ("regression",),
        paper="get",
    ),
    "get-classes": Benchmark(
        "GET beside CART on every table of two classes up to 10,000 rows",
        "random",
        ("binary",),
        max_rows=10_000,
    ),
    "argmin-classes": Benchmark(
        "argmin trees beside CART on every table of classes up to 10,000 rows",
        "random",
        ("binary", "multiclass"),
        max_rows=10_000,
    ),
}


def add_argmin(commands) -> None:
    """Add ``bench argmin``."""
    parser = commands.add_parser(
        "argmin", help="argmin trees: clustering, classification, what pruning empties"
    )
    parser.add_argument(
        "--data", type=Path, required=True, help="folder with a manifest.json"
    )
    parser.add_argument("--seeds", type=int, default=4, help="splits a table")
    parser.add_argument(
        "--first-seed", type=int, default=0, help="seed of the first split"
    )
    parser.add_argument(
        "--parts", default="glass,mushroom,path", help="which to run, joined by commas"
    )
    parser.add_argument("--out", type=Path, help="JSON file to write")
    parser.set_defaults(command=_argmin)


def add_speed(commands) -> None:
    """Add ``bench speed``."""
    parser = commands.add_parser(
        "speed", help="time a step of each operator against its dense formulation"
    )
    parser.add_argument("--steps", type=int, default=10, help="steps a measurement")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    parser.set_defaults(command=_speed)


def _add(name: str, commands) -> None:
    """Add a benchmark of learners on tables."""
    parser: ArgumentParser = commands.add_parser(name, help=BENCHMARKS[name].help)
    parser.add_argument(
        "--data", type=Path, required=True, help="folder with a manifest.json"
    )
    parser.add_argument("--tables", help="names joined by commas; default: the paper's")
    parser.add_argument(
        "--trials",
        type=int,
        default=5,
        help="splits a table, each with a random state of its own; of five folds the "
        "sixth trial has the first once more",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the first split")
    parser.add_argument(
        "--quick", action="store_true", help="one trial, tables under 3,000 rows"
    )
    parser.add_argument(
        "--contenders", help="names joined by commas; default: all but the paper's own"
    )
    parser.add_argument(
        "--tuned",
        type=int,
        default=0,
        metavar="N",
        help="also the learner tuned by a sweep of N trials on each split's training "
        "rows, in treelab's search space and in the paper's",
    )
    parser.add_argument(
        "--out", type=Path, help="file of results; one that exists is continued"
    )
    parser.set_defaults(command=lambda chosen: _run(name, chosen))


def add_deciders(commands) -> None:
    """Add ``bench deciders``."""
    parser = commands.add_parser(
        "deciders", help="GRANDE: how few trees decide test rows, and by which rule"
    )
    parser.add_argument(
        "--data", type=Path, required=True, help="folder with a manifest.json"
    )
    parser.add_argument("--table", default="PhishingWebsites", help="of two classes")
    parser.add_argument(
        "--where", default="Prefix_Suffix=1", help="COLUMN=VALUE of some test rows"
    )
    parser.add_argument("--trials", type=int, default=1, help="splits 80/20")
    parser.add_argument("--seed", type=int, default=0, help="of the first split")
    parser.add_argument("--weighting", help="entmax15 or softmax; default: GRANDE's")
    parser.set_defaults(command=_deciders)


def add_constraints(commands) -> None:
    """Add ``bench constraints``."""
    parser = commands.add_parser(
        "constraints", help="what monotone columns cost, beside trees without them"
    )
    parser.add_argument(
        "--data", type=Path, required=True, help="folder with a manifest.json"
    )
    parser.add_argument("--table", default="credit-card", help="its name")
    parser.add_argument(
        "--monotone",
        default="PAY_0: up, LIMIT_BAL: down, PAY_AMT1: down",
        help="columns of the table (default: %(default)s)",
    )
    parser.add_argument(
        "--learners", default="cart,gradtree,grande", help="keys joined by commas"
    )
    parser.add_argument("--trials", type=int, default=1, help="splits")
    parser.add_argument("--seed", type=int, default=0, help="of the first split")
    parser.add_argument(
        "--out", type=Path, help="file of results; one that exists is continued"
    )
    parser.set_defaults(command=_constraints)


def add_origins(commands) -> None:
    """Add ``bench origins``."""
    parser = commands.add_parser(
        "origins", help="whether default fits retain trained trees, on every table"
    )
    parser.add_argument(
        "--data", type=Path, required=True, help="folder with a manifest.json"
    )
    parser.add_argument("--tables", help="names joined by commas; default: all")
    parser.add_argument("--learners", help="keys joined by commas; default: all")
    parser.add_argument("--seed", type=int, default=0, help="of the split")
    parser.add_argument(
        "--out", type=Path, help="file of results; one that exists is continued"
    )
    parser.set_defaults(command=_origins)


def add_probabilities(commands) -> None:
    """Add ``bench probabilities``."""
    parser = commands.add_parser(
        "probabilities",
        help="log loss beside class frequencies, and calibration, on every table",
    )
    parser.add_argument(
        "--data", type=Path, required=True, help="folder with a manifest.json"
    )
    parser.add_argument("--tables", help="names joined by commas; default: all")
    parser.add_argument("--contenders", help="names joined by commas; default: all")
    parser.add_argument("--max-rows", type=int, help="larger tables are left out")
    parser.add_argument("--trials", type=int, default=3, help="splits a table")
    parser.add_argument("--seed", type=int, default=100, help="of the first split")
    parser.add_argument(
        "--out", type=Path, help="file of results; one that exists is continued"
    )
    parser.set_defaults(command=_probabilities)


def add_rashomon(commands) -> None:
    """Add ``bench rashomon``."""
    parser = commands.add_parser(
        "rashomon", help="how many trees score like a GradTree run's own"
    )
    parser.add_argument(
        "--data", type=Path, required=True, help="folder with a manifest.json"
    )
    parser.add_argument("--tables", default="glass,titanic", help="joined by commas")
    parser.add_argument("--tolerance", type=float, default=0.01, help="of the score")
    parser.add_argument("--trials", type=int, default=1, help="splits a table")
    parser.add_argument("--seed", type=int, default=0, help="of the first split")
    parser.set_defaults(command=_rashomon)


def add_tables(commands) -> None:
    """Add ``bench tables``."""
    parser = commands.add_parser(
        "tables", help="read every table without help, and train every learner on it"
    )
    parser.add_argument(
        "--data", type=Path, required=True, help="folder with a manifest.json"
    )
    parser.add_argument("--tables", help="names joined by commas; default: all")
    parser.add_argument("--learners", help="keys joined by commas; default: all")
    parser.add_argument(
        "--out", type=Path, help="file of results; one that exists is continued"
    )
    parser.set_defaults(command=_tables)


# Each adds a subcommand to ``treelab bench``.
COMMANDS: tuple[Callable[[Any], None], ...] = (
    *(partial(_add, name) for name in BENCHMARKS),
    add_argmin,
    add_constraints,
    add_deciders,
    add_origins,
    add_probabilities,
    add_rashomon,
    add_soak,
    add_speed,
    add_tables,
    *UI_COMMANDS,
)


def _run(name: str, chosen: Namespace) -> int:
    """Measure and print."""
    from treelab.bench.contenders import CONTENDERS
    from treelab.bench.runner import Results, measure
    from treelab.bench.tables import choose, read_manifest
    from treelab.bench.tuned import tuned_contenders

    benchmark = BENCHMARKS[name]
    tables = choose(
        read_manifest(chosen.data), benchmark.paper, benchmark.tasks, chosen.tables
    )
    max_rows = 2999 if chosen.quick else benchmark.max_rows
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
        protocol=benchmark.protocol,
        trials=trials,
        seed=chosen.seed,
    )
    print(f"Means over {trials} trial(s) of test {_score_title(benchmark)}.")
    means = _print_means(results.frame(), tables, benchmark, contenders[0].name)
    summary_path = out.with_suffix(".summary.json")
    summary_path.write_text(means.to_json(orient="index", indent=1))
    print(f"\nEvery result: {out}; means of tables: {summary_path}")
    for row in results.rows:
        if row["error"]:
            print(f"Failed: {row['table']}, {row['contender']}: {row['error']}")
    return 0


def _score_title(benchmark: Benchmark) -> str:
    """Name the score of a benchmark."""
    return "R2" if benchmark.tasks == ("regression",) else "macro F1"


def _print_means(results, tables, benchmark: Benchmark, first: str):
    """Print the means by table and by contender; return those by table."""
    from treelab.bench.summary import by_contender, by_table, differences

    means = by_table(results, tables, benchmark.paper)
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
        picked = [c for c in asked_for if not c.name.endswith("-paper")]
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


def _argmin(chosen: Namespace) -> int:
    """Measure argmin trees and print."""
    from treelab.bench.argmin import run

    return run(chosen)


def _deciders(chosen: Namespace) -> int:
    """Measure who decides in an ensemble and print."""
    from treelab.bench.ensembles.deciders import run

    return run(chosen)


def _constraints(chosen: Namespace) -> int:
    """Fit with and without monotone columns, and print."""
    from treelab.bench.constraints import run

    return run(chosen)


def _tables(chosen: Namespace) -> int:
    """Read, train and print."""
    from treelab.bench.every_table import report

    return report(chosen)


def _origins(chosen: Namespace) -> int:
    """Hold origins against starts and print."""
    from treelab.bench.origins import report

    return report(chosen)


def _probabilities(chosen: Namespace) -> int:
    """Measure log losses and calibration."""
    from treelab.bench.probabilities import report

    return report(chosen)


def _rashomon(chosen: Namespace) -> int:
    """Count the trees of Rashomon sets and print."""
    from treelab.bench.rashomon import run

    return run(chosen)


def _speed(chosen: Namespace) -> int:
    """Time the operators and print ratios."""
    from treelab.bench.timing.speed import report

    return report(steps=chosen.steps, out=chosen.out)
