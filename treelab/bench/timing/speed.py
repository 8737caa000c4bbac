"""How long a step of each operator takes, against the formulas typed in one to one."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from treelab.bench.machine import machine
from treelab.bench.timing.clock import median_seconds, medians
from treelab.bench.timing.dense import dense_axis_trees
from treelab.bench.timing.oblique import SHAPE, oblique_steps
from treelab.bench.timing.solver import solver_rows
from treelab.bench.timing.table import table_rows
from treelab.learners.grande.settings import GrandeSettings
from treelab.learners.grande.weighting import entropy, weighted_prediction
from treelab.ops.axis_trees import axis_trees
from treelab.trees.logits import WEIGHTINGS

AT_LEAST = 1.0  # seconds that the runs of a step take together
DEEPEST_DENSE = 6  # deeper, the dense sum over paths wants minutes and gigabytes


@dataclass(frozen=True)
class AxisTreesStep:
    """A step of trees with ordinary splits: forward, backward and Adam.

    Attributes
    ----------
    name : str
    n_trees, depth, n_features, n_rows, n_outputs : int
        E, D, F, B and C.
    n_offered : int
        Features that each tree may use.
    soft : str
        See `decide`.
    """

    name: str
    n_trees: int
    depth: int
    n_features: int
    n_offered: int
    n_rows: int
    n_outputs: int
    soft: str

    def make(
        self, backend: str, device: str = "cpu", weighting: str | None = None
    ) -> Callable[[], None]:
        """Return a function that does the step.

        ``backend`` is "dense" or one of `axis_trees`. With a ``weighting`` the last
        output is a leaf's weight, and `weighted_prediction` mixes the trees; with an
        entmax as our recipe trains: few trees, half of the loss of half as many, and
        their entropy penalised.
        """
        most = GrandeSettings.max_deciders if weighting == "entmax15" else None
        rng: dict[str, Any] = {
            "generator": torch.Generator(device).manual_seed(0),
            "device": device,
        }
        shape = (self.n_trees, 2**self.depth - 1, self.n_offered)
        logits = (0.5 * torch.randn(shape, **rng)).requires_grad_()
        threshold = torch.randn(shape, **rng).requires_grad_()
        leaf_shape = (self.n_trees, 2**self.depth, self.n_outputs)
        leaf = torch.randn(leaf_shape, **rng).requires_grad_()
        x = torch.randn(self.n_rows, self.n_features, **rng)
        columns = None
        if self.n_offered < self.n_features:
            order = torch.rand(self.n_trees, self.n_features, **rng).argsort(1)
            columns = order[:, : self.n_offered].contiguous()
        optimizer = torch.optim.Adam([logits, threshold, leaf], fused=True)
        formulation: Callable[..., Tensor] = dense_axis_trees
        if backend != "dense":
            formulation = partial(axis_trees, backend=backend)

        def step() -> None:
            optimizer.zero_grad(set_to_none=True)
            output = formulation(
                x, logits, threshold, leaf, columns=columns, soft=self.soft
            )
            if weighting is not None:
                mix = partial(
                    weighted_prediction,
                    output[:, :-1],
                    output[:, -1],
                    weighting=weighting,
                )
                output, weights = mix(max_deciders=most)
            loss = output.square().mean()
            if most is not None:
                by_fewer, _ = mix(max_deciders=most // 2)
                penalty = GrandeSettings.entropy_penalty * entropy(weights)
                loss = (loss + by_fewer.square().mean()) / 2 + penalty.mean()
            loss.backward()
            optimizer.step()

        return step


STEPS = (
    AxisTreesStep("GRANDE step", 1024, 5, 30, 24, 256, 2, "softsign"),
    AxisTreesStep("GRANDE step", 1024, 6, 30, 24, 256, 2, "softsign"),
    AxisTreesStep("GradTree step", 16, 10, 30, 30, 256, 1, "logistic"),
    AxisTreesStep("GradTree step, 16 restarts", 16, 6, 30, 30, 256, 1, "logistic"),
    AxisTreesStep("GradTree step, 1 restart", 1, 6, 30, 30, 256, 1, "logistic"),
)


def report(*, steps: int, out: Path | None) -> int:
    """Time every step with every formulation and print a line for each.

    Parameters
    ----------
    steps : int
        Runs that a median is taken of, at least.
    out : Path or None
        JSON file to write.

    Returns
    -------
    int
        The exit code, 0.
    """
    print(f"{machine()}, torch threads: {torch.get_num_threads()}")
    rows = [_axis_trees_row(step, steps) for step in STEPS]
    rows.append(_weighting_row(STEPS[0], steps))
    rows += solver_rows(steps)
    rows.append(_oblique_row(steps))
    rows += table_rows(steps)
    if out is not None:
        out.write_text(json.dumps(rows, indent=1))
    return 0


def _axis_trees_row(step: AxisTreesStep, steps: int) -> dict:
    """Time one step with each formulation and print a line."""
    seconds = {
        backend: median_seconds(step.make(backend), steps, at_least=AT_LEAST)
        for backend in ("dense", "torch", "auto")
        if backend != "dense" or step.depth <= DEEPEST_DENSE
    }
    times = ", ".join(
        f"{backend} {1000 * taken:.2f} ms ({taken / seconds['auto']:.1f}x)"
        for backend, taken in seconds.items()
    )
    print(
        f"{step.name}, E={step.n_trees}, D={step.depth}, F={step.n_features}, "
        f"B={step.n_rows}: {times}"
    )
    return {
        "step": step.name,
        "trees": step.n_trees,
        "depth": step.depth,
        "features": step.n_features,
        "offered": step.n_offered,
        "rows": step.n_rows,
    } | {f"{backend}_ms": 1000 * taken for backend, taken in seconds.items()}


def _weighting_row(step: AxisTreesStep, steps: int) -> dict:
    """Time a step with its mixture of trees, by each weighting, and print a line."""
    made = [step.make("auto", weighting=weighting) for weighting in WEIGHTINGS]
    taken = dict(zip(WEIGHTINGS, medians(made, steps, at_least=AT_LEAST)))
    ratio = taken["entmax15"] / taken["softmax"]
    print(
        f"{step.name}, trees mixed: entmax15 {1000 * taken['entmax15']:.2f} ms, "
        f"softmax {1000 * taken['softmax']:.2f} ms ({ratio:.2f} times)"
    )
    return {"step": f"{step.name}, trees mixed"} | {
        f"{weighting}_ms": 1000 * seconds for weighting, seconds in taken.items()
    }


def _oblique_row(steps: int) -> dict:
    """Time GET's step for a start and print a line; ours trains all starts at once."""
    step = oblique_steps(**SHAPE)
    dense = median_seconds(step["dense"], steps, at_least=AT_LEAST)
    ours = median_seconds(step["ours"], steps, at_least=AT_LEAST)
    ours /= SHAPE["n_starts"]
    print(
        f"GET step, a start, E={SHAPE['n_starts']}, D={SHAPE['depth']}, "
        f"F={SHAPE['n_features']}, B={SHAPE['n_rows']}: dense {1000 * dense:.2f} ms, "
        f"ours {1000 * ours:.2f} ms ({dense / ours:.1f}x)"
    )
    return {"step": "GET step, a start", **SHAPE} | {
        "dense_ms": 1000 * dense,
        "auto_ms": 1000 * ours,
    }
