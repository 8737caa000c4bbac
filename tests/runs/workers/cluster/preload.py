"""Loaded by the tests' Dask workers: the slow tree, and folds that are drawn once."""

from tests.runs.workers.slow_tree import register
from treelab.learners.common import folds


def dask_setup(worker) -> None:
    """Called by Dask when the worker starts."""
    register()
    folds.REPEATED_ROWS = 20  # as in the tests' own processes
