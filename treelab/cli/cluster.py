"""``python -m treelab cluster``: find groups of rows that are alike, as a tree."""

from argparse import Namespace
from functools import partial

import numpy as np

from treelab.cli.common.arguments import (
    add_device,
    add_run,
    add_seed,
    add_settings,
    add_table,
)
from treelab.cli.common.progress_bar import ProgressBar
from treelab.cli.common.run_report import print_report
from treelab.cli.common.tables import read_named_table
from treelab.learners.registry import CLUSTERS, complete_settings
from treelab.learners.setting_text import parse_settings
from treelab.runs.jobs.clusters import clusters_problem
from treelab.runs.jobs.run_one import run_one
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.trees.pruning.shown_tree import shown_tree


def add_command(commands) -> None:
    """Add ``cluster`` to the commands."""
    parser = commands.add_parser(
        "cluster",
        help="find groups of rows that are alike, without a target",
        description="Finds clusters as the leaves of a tree and saves the tree in the "
        "run store, where the app shows it. The stored table has a column 'cluster'; "
        "with --known, leaves show the known labels instead.",
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


def cluster(arguments: Namespace) -> int:
    """Find the clusters and print them; return 0 when a model was saved, else 2."""
    settings = parse_settings(CLUSTERS.key, arguments.settings)
    frame, name = read_named_table(arguments)
    if arguments.known is not None and arguments.known not in frame.columns:
        raise ValueError(f"{name} has no column {arguments.known!r}.")
    problem_of = partial(
        clusters_problem,
        frame,
        table_name=name,
        known=arguments.known,
        seed=arguments.seed,
    )
    # Refused before the table is stored.
    complete_settings(CLUSTERS.key, problem_of(table_id="not stored").task, settings)
    store = RunStore(arguments.home)
    problem = problem_of(table_id=store.add_table(frame, name))
    run_id = store.create(
        CLUSTERS.key, settings, problem, device=arguments.device, title=arguments.name
    )
    with ProgressBar() as bar:
        run_one(run_id, store.home, callbacks=[bar])
    run = store.run(run_id)
    if not run.has_model:
        return print_report(store, run)
    _print_clusters(store, run)
    return 0


def _print_clusters(store: RunStore, run: Run) -> None:
    """Print the clusters of a run, a line for each leaf."""
    print(f"{run.title} ({run.state}), run {run.id}")
    tree = shown_tree(store.model(run.id))
    labels = tree.classes or ()
    for leaf in np.flatnonzero(tree.is_leaf):
        label = labels[tree.value[leaf].argmax()]
        print(f"{label}: {tree.n_rows[leaf]:,} rows at node {leaf}")
    if "purity" in run.summary:
        purity = run.summary["purity"]
        print(f"dendrogram purity {purity:.3f} on {tree.n_rows[0]:,} training rows")
    seconds = run.summary["seconds"]
    print(f"{tree.n_leaves} clusters, depth {tree.depth}; {seconds:.1f} s")
