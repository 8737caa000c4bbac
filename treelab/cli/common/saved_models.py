"""Finding the saved model that a command names, and writing what is made of it."""

import sys
from argparse import Namespace
from pathlib import Path

from treelab.runs.jobs.import_model import read_model
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.trees.pruning.shown_tree import Model


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


def write_output(arguments: Namespace, text: str) -> None:
    """Write to the file of a command with ``add_output``, or to standard output."""
    if arguments.output:
        Path(arguments.output).write_text(text, "utf-8")
        print(f"Wrote {arguments.output}", file=sys.stderr)
    else:
        sys.stdout.write(text)


def write_bytes(arguments: Namespace, content: bytes) -> None:
    """Write to the file of a command with ``add_output``, which has to be named.

    Raises
    ------
    ValueError
        If none is named: a terminal cannot show such a file.
    """
    if not arguments.output:
        raise ValueError(f"--format {arguments.format} needs a file: add -o FILE.")
    Path(arguments.output).write_bytes(content)
    print(f"Wrote {arguments.output}", file=sys.stderr)
