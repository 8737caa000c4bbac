"""``treelab import``: show a model from elsewhere on every page."""

import sys
from argparse import Namespace
from pathlib import Path

from treelab.cli.arguments import command
from treelab.cli.tables import read_problem, store_problem
from treelab.cli.training import print_report
from treelab.runs.jobs.import_model import import_model, read_categories, read_model
from treelab.runs.store.run_store import RunStore
from treelab.trees.feature import known_forms
from treelab.trees.pruning_path import Model


@command(
    "import",
    "show a tree that was trained elsewhere",
    """
    Saves a model as a run that is done, scored on a table, so that the app shows
    it. It may be a folder that a model was saved in (in Python,
    treelab.from_sklearn(model).save('folder')), the one file of 'export --format
    model', JSON of 'export --format json', JSON of an xgboost model or text of a
    LightGBM model. Nothing in it is run.

    model FILE  a .treelab, .json or .txt file, or a folder
    [problem]
    --classes LABEL  labels in the order of xgboost's or LightGBM's numbers
        (default: 0, 1, ...)
    --model-missing NUMBER  number that counted as missing when an xgboost model was
        trained, such as -999 (its file does not tell)
    --rounds N  read only the first N boosting rounds of an xgboost or LightGBM
        model
    --categories COLUMN=A,B,...  categories in the order of an xgboost or LightGBM
        model's codes, where its file lacks them
    [run]
    --json  print the run as JSON, its scores among it
    """,
    classes={"nargs": "+"},
    model_missing=float,
    rounds=int,
    categories={"nargs": "+", "default": []},
)
def import_run(arguments: Namespace) -> int:
    """Import a model and print its scores; return 0 when it was saved."""
    if arguments.rounds is not None and arguments.rounds < 1:
        raise ValueError(f"--rounds must be at least 1, got {arguments.rounds}.")
    model = read_model(
        Path(arguments.model),
        arguments.classes,
        missing=arguments.model_missing,
        iteration_range=None if arguments.rounds is None else (0, arguments.rounds),
        categories=read_categories(arguments.categories),
    )
    frame, problem = read_problem(arguments, known_forms(model) or None)
    _refuse_changed_columns(arguments, model)
    store = RunStore(arguments.home)
    problem = store_problem(store, frame, problem)
    run_id = import_model(store, model, problem, arguments.name)
    run = store.run(run_id)
    notes = *getattr(model, "notes", ()), *run.summary["notes"]
    for note in dict.fromkeys(notes):
        print(note, file=sys.stderr)
    return print_report(store, run, as_json=arguments.json)


def _refuse_changed_columns(arguments: Namespace, model: Model) -> None:
    """Raise ValueError for an option that would change a column which a model reads."""
    kinds = {feature.column: feature.kind for feature in model.features}
    asked = [("--without", name, "") for name in arguments.without]
    for name, _, kind in (text.rpartition(":") for text in arguments.kind):
        asked.append(("--kind", name, kind))
    for column in (text.rpartition(":")[0] for text in arguments.rare):
        every = [name for name in kinds if kinds[name] == "category"]
        asked += [("--rare", name, "") for name in ([column] if column else every)]
    for option, name, kind in asked:
        if name in kinds and kind != kinds[name]:
            raise ValueError(
                f"{option} would change {name!r}, which the model reads as it was "
                f"trained: leave {option} out."
            )
