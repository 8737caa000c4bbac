"""Loaded by the tests' Dask workers: the slow tree."""

from tests.runs.workers.slow_tree import register


def dask_setup(worker) -> None:
    """Called by Dask when the worker starts."""
    register()
