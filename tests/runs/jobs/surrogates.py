"""A run that imitates another model, whose predictions are a column of the table."""

from dataclasses import replace

import numpy as np

from tests.pages.stores import table
from treelab.data.problem import make_problem
from treelab.runs.jobs.run_one import run_one
from treelab.runs.store.run_store import RunStore


def add_surrogate(
    store: RunStore, target: str = "kind", truth: bool = True, weight: str = ""
) -> str:
    """Train a small CART on a model's column of the fruit table; return its run."""
    frame = table()
    rng = np.random.default_rng(2)
    if target == "kind":
        noise = rng.choice(frame["kind"], len(frame))
        wrong = (frame["radius"] > 30) & (rng.random(len(frame)) < 0.5)
        frame["forest"] = np.where(wrong, noise, frame["kind"])
    else:
        frame["forest"] = frame["weight"] + rng.normal(0, 0.1, len(frame))
    problem = make_problem(
        frame,
        "forest",
        table_id=store.add_table(frame, "fruit"),
        table_name="fruit",
        columns=["radius", "texture $x$", "colour"],
        units={"forest": "kg"} if target == "weight" else {},
    )
    problem = replace(problem, is_surrogate=True, truth=target if truth else "")
    problem = replace(problem, weight=weight)
    settings = {"tune": False, "max_leaf_nodes": 4}
    run = store.create("cart", settings, problem)
    assert run_one(run, store.home) == "done"
    return run
