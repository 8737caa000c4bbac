"""What ``apart`` loads once: the learners, which one thread trains."""

import os
from importlib import import_module

os.environ["OMP_NUM_THREADS"] = "1"  # no threads that a fork would lose

for name in (
    "treelab.runs.jobs.run_one",
    "treelab.runs.jobs.save_model",
    "treelab.learners.cart.estimators",
    "treelab.learners.gradtree.estimators",
    "treelab.learners.grande.estimators",
    "treelab.learners.get.estimators",
    "treelab.learners.argmin.estimators",
    "treelab.learners.optimal.estimators",
):
    import_module(name)
