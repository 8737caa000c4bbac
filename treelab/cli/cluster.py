"""``treelab cluster``: find groups of rows that are alike, as a tree."""

from argparse import Namespace
from functools import partial

import numpy as np

from treelab.cli.arguments import command, printable
from treelab.cli.tables import read_named_table
from treelab.cli.training import Trainer, print_report
from treelab.learners.registry import CLUSTERS, complete_settings
from treelab.learners.setting_text import parse_settings
from treelab.runs.jobs.clusters import clusters_problem
from treelab.runs.run_words import purity_words
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.trees.pruning_path import shown_tree
from treelab.trees.tree import Tree


@command(
    "cluster",
    "find groups of rows that are alike, without a target",
    """
    Finds clusters as the leaves of a tree and saves the tree in the run store,
    where the app shows it. The stored table has a column 'cluster'; with --known,
    leaves show the known labels instead.

    [table]
    --known COLUMN  labels to hold the clusters against; no split sees them
    [settings]  depth=3 or target_columns=each
    [seed]
    [device]
    [run]
    --json  print the run and its clusters as JSON
    """,
)
def cluster(arguments: Namespace) -> int:
    """Find the clusters and print them; return 0 when a model was saved, else 2."""
    settings = parse_settings(CLUSTERS.key, arguments.settings)
    read, name = read_named_table(arguments)
    frame = read.frame
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
    trainer = Trainer(store)
    problem = problem_of(table_id=store.add_table(frame, name))
    run_id = store.create(
        CLUSTERS.key, settings, problem, device=arguments.device, title=arguments.name
    )
    trainer.train([run_id])
    run = store.run(run_id)
    if not run.has_model:
        return print_report(store, run)
    tree = shown_tree(store.model(run.id))
    if arguments.json:
        more = {"clusters": _clusters(tree)}
        return print_report(store, run, as_json=True, more=more)
    _print_clusters(run, tree)
    return 0


def _clusters(tree: Tree) -> list[dict]:
    """List the clusters of a tree: label, number of rows, node."""
    labels = tree.classes or ()
    return [
        {
            "cluster": labels[tree.value[leaf].argmax()],
            "rows": int(tree.n_rows[leaf]),
            "node": int(leaf),
        }
        for leaf in np.flatnonzero(tree.is_leaf)
    ]


def _print_clusters(run: Run, tree: Tree) -> None:
    """Print the clusters of a run, a line for each leaf."""
    print(f"{printable(run.title)} ({run.state}), run {run.id}")
    for own in _clusters(tree):
        label = printable(str(own["cluster"]))
        print(f"{label}: {own['rows']:,} rows at node {own['node']}")
    if "purity" in run.summary:
        rows = f"{tree.n_rows[0]:,} training rows"
        print(f"dendrogram purity {purity_words(run)} on {rows}")
    seconds = run.summary["seconds"]
    print(f"{tree.n_leaves} clusters, depth {tree.depth}; {seconds:.1f} s")
