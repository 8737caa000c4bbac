"""``python -m treelab cluster``: find groups of rows that are alike, as a tree."""

import argparse

import numpy as np

from treelab.cli.arguments import (
    add_device,
    add_run,
    add_seed,
    add_settings,
    add_table,
    read_named,
)
from treelab.cli.train import Bar, parse_settings, tell
from treelab.learners.registry import CLUSTERS
from treelab.runs.jobs.clusters import clusters_problem
from treelab.runs.jobs.run_one import run_one
from treelab.runs.store.run_store import RunStore


def add_command(commands) -> None:
    """Add ``cluster`` to the commands."""
    parser = commands.add_parser(
        "cluster",
        help="find groups of rows that are alike, without a target",
        description="Finds clusters as the leaves of a tree and keeps the tree in the "
        "run store, where the app shows it. The table that is kept has a column "
        "'cluster'; with --known, leaves tell the known labels instead.",
    )
    add_table(parser)
    parser.add_argument(
        "--known",
        metavar="COLUMN",
        help="labels to hold the clusters against; no split sees them",
    )
    add_settings(parser, "depth=3 or target_columns=each")
    add_seed(parser)
    add_device(parser)
    add_run(parser)
    parser.set_defaults(command=cluster)


def cluster(chosen: argparse.Namespace) -> int:
    """Find the clusters and print what came of it; 0 when a model was kept, else 2."""
    settings = parse_settings(CLUSTERS.key, chosen.settings)
    frame, name = read_named(chosen.table)
    if chosen.known is not None and chosen.known not in frame.columns:
        raise ValueError(f"{name} has no column {chosen.known!r}.")
    store = RunStore(chosen.home)
    problem = clusters_problem(
        frame,
        table_id=store.add_table(frame, name),
        table_name=name,
        known=chosen.known,
        seed=chosen.seed,
    )
    run_id = store.create(
        CLUSTERS.key, settings, problem, device=chosen.device, title=chosen.name
    )
    with Bar() as bar:
        run_one(run_id, store.home, callbacks=[bar])
    run = store.run(run_id)
    if not run.has_model:
        return tell(store, run)
    print(f"{run.title} ({run.state}), run {run.id}")
    tree = store.model(run_id).tree
    for leaf in np.flatnonzero(tree.is_leaf):
        said = tree.classes[tree.value[leaf].argmax()]
        print(f"{said}: {tree.n_rows[leaf]:,} rows at node {leaf}")
    if "purity" in run.summary:
        purity = run.summary["purity"]
        print(f"dendrogram purity {purity:.3f} on {tree.n_rows[0]:,} training rows")
    seconds = run.summary["seconds"]
    print(f"{tree.n_leaves} clusters, depth {tree.depth}; {seconds:.1f} s")
    return 0
