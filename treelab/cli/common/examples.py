"""What stands at the end of a command's help: calls that can be copied."""

from argparse import ArgumentParser, RawDescriptionHelpFormatter

EXIT_CODES = """exit codes: 0 done; 1 done, but all is not well (doctor, some
benchmarks); 2 refused, a sentence on standard error says why; 130 interrupted"""

EXAMPLES = {
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
    "edit": (
        "edit RUN -o edits.json",
        "edit RUN --log edits.json --train gradtree",
    ),
    "bench": ("bench tables --data tables", "bench large --rows 1000000 --columns 50"),
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
        calls = "\n".join(f"  python -m treelab {line}" for line in lines)
        parser.epilog = f"examples:\n{calls}\n\n{EXIT_CODES}"


def _filled(description: str | None) -> str | None:
    """Break a description into lines, which the formatter leaves as they are."""
    from textwrap import fill

    return None if description is None else fill(description, 79)
