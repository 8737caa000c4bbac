"""``treelab export``: write a trained tree as rules, code or a page."""

import json
import sys
from argparse import Namespace

from treelab.cli.arguments import (
    command,
    find_model,
    format_of,
    printable,
    write_output,
)
from treelab.data.writing import csv_text
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.trees.code import LANGUAGES, ensemble_languages, to_onnx
from treelab.trees.dot import to_dot
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.pruning_path import Model, PruningPath, shown_tree
from treelab.trees.text import to_rules, to_text
from treelab.trees.tree import Tree

ENDINGS = {"csv": "rules", "txt": "text", "treelab": "model"} | {
    own: own for own in ("dot", "json", "html", "onnx")
}
ENDINGS |= {ending: name for name, (_, ending, _) in LANGUAGES.items()}
FORMATS = ("rules", "text", "dot", "json", "html", "model", "onnx", *LANGUAGES)


@command(
    "export",
    "write a trained tree as rules, code or a page",
    """
    [model]
    [output]
    --format  default: what the ending of the output says; rules without one
    --estimator N  which tree of an ensemble, from 0; model, onnx, python, c, json
        and, of a random forest, pmml hold all of them without it
    --of NAME  of a tree of several outputs, the one to write
    """,
    format={"choices": FORMATS},
    estimator=int,
)
def export(arguments: Namespace) -> None:
    """Write a tree in the format asked for."""
    model, run = find_model(arguments)
    if arguments.of is not None:
        if not isinstance(model, Tree):
            raise ValueError("--of names an output of a tree; leave it out.")
        model = model.of_output(arguments.of)
    write_output(arguments, _written(arguments, model, run))


def _written(arguments: Namespace, model: Model, run: Run | None) -> str | bytes:
    """Return a model, or one of its trees, in the format asked for."""
    form, estimator = format_of(arguments, ENDINGS, "rules"), arguments.estimator
    if form in ("model", "json"):
        own = model if estimator is None else _single_tree(model, estimator)
        if form == "model":
            return own.to_bytes()
        return json.dumps(own.to_dict(), indent=1) + "\n"
    if (
        isinstance(model, WeightedTrees)
        and estimator is None
        and form in ("onnx", *ensemble_languages(model))
    ):
        return _code(model, form)
    tree = _single_tree(model, estimator)
    if form in ("onnx", *LANGUAGES):
        if isinstance(model, PruningPath):
            model.as_tree()  # refused where a predictor on top is not written
        return _code(tree, form)
    writers = {
        "rules": lambda: _rules(tree),
        "text": lambda: to_text(tree).rstrip("\n") + "\n",
        "dot": lambda: to_dot(tree).rstrip("\n") + "\n",
        "html": lambda: _html_page(tree, arguments, run),
    }
    return writers[form]()


def _rules(tree: Tree) -> str:
    """Return a tree's rules as CSV; its notes have no place there and are printed."""
    for note in tree.notes:
        print(printable(note), file=sys.stderr)
    return csv_text(to_rules(tree))


def _code(model: Tree | WeightedTrees, language: str) -> str | bytes:
    """Return a tree, or an ensemble, as code."""
    if language == "onnx":
        return to_onnx(model)
    _, _, write_code = LANGUAGES[language]
    return write_code(model)


def _html_page(tree: Tree, arguments: Namespace, run: Run | None) -> str:
    """Write a tree as a page; plotly is not loaded for other formats."""
    from treelab.reports.tree_page import html_page

    return html_page(tree, RunStore(arguments.home), run, arguments.estimator)


def _single_tree(model: Model, estimator: int | None) -> Tree:
    """Return a model's tree, or the one of an ensemble that was asked for."""
    if isinstance(model, WeightedTrees):
        last = model.n_estimators - 1
        if estimator is None or not 0 <= estimator <= last:
            raise ValueError(
                f"The model is an ensemble; choose one of its trees with --estimator, "
                f"0 to {last}, or write all with --format model, onnx, python, c or "
                "json."
            )
        return shown_tree(model, estimator=estimator)
    if estimator is not None:
        raise ValueError("The model is one tree; leave --estimator out.")
    return shown_tree(model)
