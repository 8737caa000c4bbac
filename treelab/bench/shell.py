"""The subcommands of ``python -m treelab bench``."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

PROTOCOLS = {"gradtree": "random", "grande": "folds", "get": "quarters"}
TASKS = {
    "gradtree": ("binary", "multiclass"),
    "grande": ("binary",),
    "get": ("regression",),
}


def add_gradtree(commands) -> None:
    """Add ``bench gradtree``."""
    _add(commands, "gradtree", "GradTree beside CART on the paper's tables")


def add_grande(commands) -> None:
    """Add ``bench grande``."""
    _add(commands, "grande", "GRANDE beside xgboost and catboost on the paper's tables")


def add_get(commands) -> None:
    """Add ``bench get``."""
    _add(commands, "get", "GET and GET-Linear beside CART and a random forest")


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


COMMANDS = (add_gradtree, add_grande, add_argmin, add_get, add_speed)


def _add(commands, paper: str, help_text: str) -> None:
    """Add one paper's benchmark."""
    parser: ArgumentParser = commands.add_parser(paper, help=help_text)
    parser.add_argument(
        "--data", type=Path, required=True, help="folder with a manifest.json"
    )
    parser.add_argument("--tables", help="names joined by commas; default: the paper's")
    parser.add_argument("--trials", type=int, default=5, help="splits a table")
    parser.add_argument("--seed", type=int, default=0, help="of the first split")
    parser.add_argument(
        "--quick", action="store_true", help="one trial, tables under 3,000 rows"
    )
    parser.add_argument(
        "--contenders", help="names joined by commas; default: all but the paper's own"
    )
    parser.add_argument(
        "--out", type=Path, help="file of results; one that exists is continued"
    )
    parser.set_defaults(command=lambda chosen: _run(paper, chosen))


def _run(paper: str, chosen: Namespace) -> int:
    """Measure and print."""
    from treelab.bench.contenders import CONTENDERS
    from treelab.bench.runner import Results, measure, summary
    from treelab.bench.tables import choose, read_manifest

    tables = choose(read_manifest(chosen.data), paper, TASKS[paper], chosen.tables)
    if chosen.quick:
        tables = [table for table in tables if len(table.load()[1]) < 3000]
    contenders = _contenders(CONTENDERS[paper], chosen.contenders)
    out = chosen.out or Path(f"bench-{paper}.jsonl")
    results = Results(out)
    trials = 1 if chosen.quick else chosen.trials
    measure(
        tables,
        contenders,
        results,
        protocol=PROTOCOLS[paper],
        trials=trials,
        seed=chosen.seed,
    )
    wide = summary(results, tables, paper)
    score = "R2" if TASKS[paper] == ("regression",) else "macro F1"
    print(f"\nMean test {score} over {trials} trial(s), leaves, seconds a fit\n")
    print(wide.round(3).to_string())
    summary_path = out.with_suffix(".summary.json")
    summary_path.write_text(wide.to_json(orient="index", indent=1))
    print(f"\nEvery result: {out}; means: {summary_path}")
    for row in results.rows:
        if row["error"]:
            print(f"Failed: {row['table']}, {row['contender']}: {row['error']}")
    return 0


def _contenders(known, names: str | None):
    """Pick contenders by name; say which package one lacks."""
    if names is None:
        picked = [c for c in known if not c.name.endswith("-paper")]
        for contender in picked:
            if contender.missing():
                print(f"Left out {contender.name}: pip install {contender.needs}")
        return [c for c in picked if not c.missing()]
    by_name = {contender.name: contender for contender in known}
    picked = []
    for name in names.split(","):
        if name not in by_name:
            raise ValueError(
                f"There is no contender {name!r}; there are {', '.join(by_name)}."
            )
        if by_name[name].missing():
            raise ValueError(f"{name} wants: pip install {by_name[name].needs}")
        picked.append(by_name[name])
    return picked


def _argmin(chosen: Namespace) -> int:
    """Measure argmin trees and print."""
    from treelab.bench.argmin import run

    return run(chosen)


def _speed(chosen: Namespace) -> int:
    """Time the operators and print ratios."""
    from treelab.bench.speed import report

    return report(steps=chosen.steps, out=chosen.out)
