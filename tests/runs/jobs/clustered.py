"""Runs of clusters, made as a worker makes them."""

from treelab.learners.registry import CLUSTERS
from treelab.runs.jobs.clusters import clusters_problem
from treelab.runs.jobs.run_one import run_one

QUICK = {"depth": 2, "pruning_strength": (0.0, 30.0), "max_epochs": 30}


def clustered(store, frame, name="irises", known=None, **settings) -> str:
    """Find clusters of a table; return the id of the run, which has ended."""
    problem = clusters_problem(
        frame, table_id=store.add_table(frame, name), table_name=name, known=known
    )
    run_id = store.create(CLUSTERS.key, QUICK | settings, problem)
    run_one(run_id, store.home)
    return run_id
