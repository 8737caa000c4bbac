"""``python -m treelab train``: train one learner on a table, here and now."""

import argparse
import json
import math
import signal
import sys

from tqdm import tqdm

from treelab.cli.arguments import (
    add_device,
    add_run,
    add_seed,
    add_settings,
    add_table,
    read_named,
)
from treelab.data.check import check_problem
from treelab.data.columns import TASKS, listed
from treelab.data.problem import Problem, make_problem
from treelab.evaluation import metrics
from treelab.learners.common.spec import Setting
from treelab.learners.registry import LEARNERS, find_spec
from treelab.runs.jobs.run_one import run_one
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.training.events import Progress

_WHOLE, _NUMBER = "a whole number", "a number"


def add_command(commands) -> None:
    """Add ``train`` to the commands."""
    parser = commands.add_parser(
        "train",
        help="train a tree on a table",
        description="Trains a tree and keeps it in the run store, where the app shows "
        "it. Ctrl-C stops early and keeps the best so far.",
    )
    add_problem(parser)
    parser.add_argument(
        "--learner", default="gradtree", choices=LEARNERS, help="(default: gradtree)"
    )
    add_settings(parser, "depth=5")
    add_device(parser)
    add_run(parser)
    parser.set_defaults(command=train)


def add_problem(parser: argparse.ArgumentParser) -> None:
    """Add what names a table and says what to predict of it."""
    add_table(parser)
    parser.add_argument("--target", required=True, help="the column to predict")
    parser.add_argument(
        "--task", choices=TASKS, help="(default: what the target looks like)"
    )
    add_seed(parser)


def train(chosen: argparse.Namespace) -> int:
    """Train, and print the scores; 0 when a model was kept, else 2."""
    settings = parse_settings(chosen.learner, chosen.settings)
    store = RunStore(chosen.home)
    problem = problem_of(chosen, store)
    run_id = store.create(
        chosen.learner, settings, problem, device=chosen.device, title=chosen.name
    )
    with Bar() as bar:
        run_one(run_id, store.home, callbacks=[bar])
    return tell(store, store.run(run_id))


def problem_of(chosen: argparse.Namespace, store: RunStore) -> Problem:
    """Keep the table that was named, and return what to predict of it.

    Raises
    ------
    OSError, ValueError
        If the table cannot be read, lacks the target, or cannot be learned from.
    """
    frame, name = read_named(chosen.table)
    if chosen.target not in frame.columns:
        raise ValueError(
            f"{name} has no column {chosen.target!r}; it has "
            f"{listed([str(column) for column in frame.columns])}."
        )
    problem = make_problem(
        frame,
        chosen.target,
        table_id=store.add_table(frame, name),
        table_name=name,
        task=chosen.task,
        seed=chosen.seed,
    )
    findings = check_problem(frame, problem)
    for finding in findings:
        if finding.level == "error":
            raise ValueError(finding.sentence)
        print(finding.sentence, file=sys.stderr)
    return problem


def parse_settings(learner: str, texts: list[str]) -> dict:
    """Read ``NAME=VALUE`` texts as settings of a learner.

    Raises
    ------
    ValueError
        If a text has no "=", or its value is not of the setting's kind.
    """
    known = {setting.name: setting for setting in find_spec(learner).settings}
    settings = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise ValueError(f"--set takes NAME=VALUE, such as depth=5; got {text!r}.")
        settings[name] = _parse(name, value, known.get(name))
    return settings


def _parse(name: str, value: str, setting: Setting | None):
    """Read a value as its setting's kind, else as JSON, else as the text it is."""
    readers = {"int": (int, _WHOLE), "float": (float, _NUMBER)}
    if setting is not None and setting.kind in readers:
        words = {str(word): word for word in (*setting.choices, setting.default)}
        if value in words and not isinstance(words[value], int | float):
            return words[value]
    if setting is None or setting.kind in ("bool", "choice", "columns", "other"):
        try:
            return json.loads(value)
        except json.JSONDecodeError:
            return None if value == "None" else value
    try:
        if setting.kind == "floats":
            return [float(part) for part in value.strip("[]()").split(",")]
        return readers[setting.kind][0](value)
    except ValueError as error:
        wanted = readers.get(setting.kind, (None, "numbers with commas between"))[1]
        raise ValueError(f"{name} must be {wanted}, got {value!r}.") from error


class Bar:
    """A progress bar that hears the training, and Ctrl-C as the wish to stop.

    A second Ctrl-C breaks the training off.
    """

    def __enter__(self) -> "Bar":
        self._stop = False
        self._bar = tqdm(unit=" epochs", disable=None, file=sys.stderr)
        self._before = signal.signal(signal.SIGINT, self._hear)
        return self

    def __exit__(self, *_) -> None:
        signal.signal(signal.SIGINT, self._before)
        self._bar.close()

    def __call__(self, report: Progress) -> bool:
        """Move the bar; True once Ctrl-C was pressed."""
        self._bar.total = report.max_epochs
        if math.isfinite(report.valid_loss):
            self._bar.set_postfix(
                train=f"{report.train_loss:.4g}",
                valid=f"{report.valid_loss:.4g}",
                refresh=False,
            )
        self._bar.update(report.epoch - self._bar.n)
        return self._stop

    def _hear(self, *_) -> None:
        """Note the wish, and let the next Ctrl-C through."""
        self._stop = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
        print("Stopping; the best tree so far is kept.", file=sys.stderr)


def tell(store: RunStore, run: Run) -> int:
    """Print what came of a run; 0 when it kept a model, else 2."""
    if not run.has_model:
        print(f"treelab: {run.title} {run.state}. {run.error}", file=sys.stderr)
        if store.log(run.id):
            log = store.folder(run.id) / "log.txt"
            print(f"The traceback is in {log}.", file=sys.stderr)
        return 2
    summary = run.summary
    print(f"{run.title} ({run.state}), run {run.id}")
    names = [name for name in run.metrics["train"] if name != "n_rows"]
    print(
        "".ljust(8)
        + "".join(metrics.TITLES[n].rjust(19) for n in names)
        + "rows".rjust(8)
    )
    for split, scores in run.metrics.items():
        numbers = "".join(f"{scores[name]:19.4f}" for name in names)
        print(split.ljust(8) + numbers + f"{scores['n_rows']:8d}")
    trees = f"{summary['estimators']} trees, " if "estimators" in summary else ""
    print(
        f"{trees}{summary['leaves']} leaves, depth {summary['depth']}; "
        f"{summary['seconds']:.1f} s on {summary['device']}"
    )
    print(f"Saved in {store.folder(run.id) / 'model'}")
    return 0
