"""``python -m treelab predict``: predict the rows of a table with a trained model."""

from argparse import Namespace

import pandas as pd

from treelab.cli.common.arguments import add_model, add_output, add_table
from treelab.cli.common.saved_models import find_model, write_output
from treelab.cli.common.tables import read_named_table
from treelab.data.columns import as_frame
from treelab.data.values import cast_column
from treelab.trees.pruning.shown_tree import Model


def add_command(commands) -> None:
    """Add ``predict`` to the commands."""
    parser = commands.add_parser(
        "predict",
        help="predict the rows of a table with a trained model",
        description="Writes the table with a column 'prediction' and, for classes, "
        "their probabilities beside it.",
    )
    add_model(parser)
    add_table(parser)
    add_output(parser)
    parser.set_defaults(command=predict)


def predict(arguments: Namespace) -> None:
    """Predict the rows of a table and write them with the predictions."""
    model, run = find_model(arguments)
    frame, name = read_named_table(arguments, one_column=True)
    X = _features(model, frame) if run is None else run.problem.table(frame)
    predictions = _predictions(model, X)
    present = [column for column in predictions if column in frame.columns]
    if present:
        raise ValueError(f"{name} has a column {present[0]!r} already; rename it.")
    written = pd.concat([frame, predictions.set_index(frame.index)], axis=1)
    write_output(arguments, written.to_csv(index=False))


def _predictions(model: Model, X: pd.DataFrame) -> pd.DataFrame:
    """Predict rows; a column with the prediction, one for each class's probability."""
    columns = {"prediction": model.predict(X)}
    if model.task != "regression":
        probabilities = model.predict_proba(X)  # (n_rows, n_classes)
        for k, label in enumerate(model.classes or ()):
            columns[f"probability of {label}"] = probabilities[:, k]
    return pd.DataFrame(columns)


def _features(model: Model, frame: pd.DataFrame) -> pd.DataFrame:
    """Pick a model's columns, cast to the kinds with which it was trained."""
    kinds = {feature.column: feature.kind for feature in model.features}
    frame = as_frame(frame, list(kinds))
    return pd.DataFrame({name: cast_column(frame[name], kinds[name]) for name in kinds})
