"""How long a step of each operator takes, against the formulas typed in one to one."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from treelab.bench.clock import median_seconds
from treelab.bench.dense import dense_axis_trees
from treelab.bench.machine import machine
from treelab.bench.oblique import SHAPE, oblique_steps
from treelab.bench.solver_speed import solver_rows
from treelab.bench.table_speed import table_rows
from treelab.ops.axis_trees import axis_trees

AT_LEAST = 1.0  # seconds that the runs of a step take together
DENSE_DEPTH = 6  # deeper, the dense sum over paths takes minutes and gigabytes


@dataclass(frozen=True)
class AxisStep:
    """A training step of axis-aligned trees; ``n_offered`` features a tree."""

    name: str
    n_trees: int
    depth: int
    n_features: int
    n_offered: int
    n_outputs: int
    soft: str
    n_rows: int = 256


STEPS = (
    AxisStep("GRANDE step", 1024, 5, 30, 24, 2, "softsign"),
    AxisStep("GRANDE step", 1024, 6, 30, 24, 2, "softsign"),
    AxisStep("GradTree step", 16, 10, 30, 30, 1, "logistic"),
    AxisStep("GradTree step, 16 restarts", 16, 6, 30, 30, 1, "logistic"),
    AxisStep("GradTree step, 1 restart", 1, 6, 30, 30, 1, "logistic"),
)


def report(*, steps: int, out: Path | None) -> int:
    """Time every step with every formulation and print a line for each."""
    rows = []
    print(f"{machine()}, torch threads: {torch.get_num_threads()}")
    for step in STEPS:
        times = {
            backend: seconds_a_step(step, backend=backend, steps=steps)
            for backend in ("dense", "torch", "auto")
            if backend != "dense" or step.depth <= DENSE_DEPTH
        }
        rows.append(_axis_row(step, times))
    rows += solver_rows(steps)
    rows.append(_oblique(steps))
    rows += table_rows(steps)
    if out is not None:
        out.write_text(json.dumps(rows, indent=1))
    return 0


def _axis_row(step: AxisStep, times: dict[str, float]) -> dict:
    """Print a line for a step and return its row; seconds by backend."""
    print(
        f"{step.name}, E={step.n_trees}, D={step.depth}, F={step.n_features}, "
        f"B={step.n_rows}: "
        + ", ".join(
            f"{backend} {1000 * taken:.2f} ms ({taken / times['auto']:.1f}x)"
            for backend, taken in times.items()
        )
    )
    return {
        "step": step.name,
        "trees": step.n_trees,
        "depth": step.depth,
        "features": step.n_features,
        "offered": step.n_offered,
        "rows": step.n_rows,
    } | {f"{backend}_ms": 1000 * taken for backend, taken in times.items()}


def _oblique(steps: int) -> dict:
    """Time GET's step for a start and print a line; ours trains all starts at once."""
    by_name = oblique_steps(**SHAPE)
    dense = median_seconds(by_name["dense"], steps, at_least=AT_LEAST)
    ours = median_seconds(by_name["ours"], steps, at_least=AT_LEAST)
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


def seconds_a_step(
    shape: AxisStep, *, backend: str, steps: int, device: str = "cpu"
) -> float:
    """Median seconds of a step: forward, backward and Adam.

    ``backend`` is "dense" or one of `axis_trees`.
    """
    step = axis_step(shape, backend=backend, device=device)
    return median_seconds(step, steps, device, at_least=AT_LEAST)


def axis_step(shape: AxisStep, *, backend: str, device: str) -> Callable[[], None]:
    """Return a function that makes one step of random trees on random rows."""
    generator = torch.Generator(device).manual_seed(0)

    def draw(*size: int) -> Tensor:
        return torch.randn(size, generator=generator, device=device)

    split_shape = (shape.n_trees, 2**shape.depth - 1, shape.n_offered)
    logits = (0.5 * draw(*split_shape)).requires_grad_()
    threshold = draw(*split_shape).requires_grad_()
    leaf = draw(shape.n_trees, 2**shape.depth, shape.n_outputs).requires_grad_()
    x = draw(shape.n_rows, shape.n_features)
    columns = None
    if shape.n_offered < shape.n_features:
        order = draw(shape.n_trees, shape.n_features).argsort(1)
        columns = order[:, : shape.n_offered].contiguous()
    optimizer = torch.optim.Adam([logits, threshold, leaf], fused=True)

    def raw_outputs() -> Tensor:
        if backend == "dense":
            return dense_axis_trees(x, logits, threshold, leaf, columns, shape.soft)
        return axis_trees(
            x,
            logits,
            threshold,
            leaf,
            columns=columns,
            soft=shape.soft,
            backend=backend,
        )

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        raw_outputs().square().mean().backward()
        optimizer.step()

    return step
