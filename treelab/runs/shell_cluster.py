"""``python -m treelab cluster``: find groups of rows that are alike, as a tree."""

import argparse
import sys
from pathlib import Path

import numpy as np

from treelab.data.read import read_table
from treelab.learners.registry import CLUSTERS
from treelab.runs.clusters import cluster_table
from treelab.runs.shell_train import Bar, parse_settings
from treelab.runs.shell_worker import add_home
from treelab.runs.store import RunStore
from treelab.trees.path import PruningPath


def add_command(commands) -> None:
    """Add ``cluster`` to the commands."""
    parser = commands.add_parser(
        "cluster",
        help="find groups of rows that are alike, without a target",
        description="Finds clusters as the leaves of a tree and keeps the tree in the "
        "run store, where the app shows it. The table that is kept has a column "
        "'cluster'; with --known, leaves tell the known labels instead.",
    )
    parser.add_argument("table", metavar="TABLE", help="a .csv, .tsv or .parquet file")
    parser.add_argument(
        "--known",
        metavar="COLUMN",
        help="labels to hold the clusters against; no split sees them",
    )
    parser.add_argument(
        "--set",
        dest="settings",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a setting, such as depth=3 or target_columns=each; may be repeated",
    )
    parser.add_argument("--seed", type=int, default=0, help="starts the trees")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    parser.add_argument("--name", default="", help="title of the run")
    add_home(parser)
    parser.set_defaults(command=cluster)


def cluster(chosen: argparse.Namespace) -> None:
    """Find the clusters and print what came of it."""
    settings = parse_settings(CLUSTERS.key, chosen.settings)
    path = Path(chosen.table)
    read = read_table(path, path.name)
    for note in read.notes:
        print(note, file=sys.stderr)
    if chosen.known is not None and chosen.known not in read.frame.columns:
        raise ValueError(f"{path.name} has no column {chosen.known!r}.")
    store = RunStore(chosen.home)
    with Bar() as bar:
        run_id = cluster_table(
            store,
            read.frame,
            path.name,
            known=chosen.known,
            settings=settings,
            seed=chosen.seed,
            device=chosen.device,
            title=chosen.name,
            callbacks=[bar],
        )
    run, model = store.run(run_id), store.model(run_id)
    print(f"{run.title} ({run.state}), run {run.id}")
    tree = model.tree if isinstance(model, PruningPath) else model
    for leaf in np.flatnonzero(tree.is_leaf):
        said = tree.classes[tree.value[leaf].argmax()]
        print(f"{said}: {tree.n_rows[leaf]:,} rows at node {leaf}")
    if isinstance(model, PruningPath):
        purity = model.scores["purity"][model.chosen]
        print(f"dendrogram purity {purity:.3f} on {tree.n_rows[0]:,} training rows")
    seconds = run.summary["seconds"]
    print(f"{tree.n_leaves} clusters, depth {tree.depth}; {seconds:.1f} s")
