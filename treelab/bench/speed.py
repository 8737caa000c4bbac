"""How long a step of each operator takes, against the formulas typed in one to one."""

import json
from pathlib import Path

import torch

from treelab.bench.clock import median_seconds
from treelab.bench.dense import dense_axis_trees
from treelab.bench.machine import machine
from treelab.bench.oblique import SHAPE, oblique_steps
from treelab.bench.solver_speed import solver_rows
from treelab.bench.table_speed import table_rows
from treelab.ops.axis_trees import axis_trees

# name, trees, depth, features, features a tree, rows, outputs, soft decision
STEPS = (
    ("GRANDE step", 1024, 5, 30, 24, 256, 2, "softsign"),
    ("GRANDE step", 1024, 6, 30, 24, 256, 2, "softsign"),
    ("GradTree step", 16, 10, 30, 30, 256, 1, "logistic"),
    ("GradTree step, 16 restarts", 16, 6, 30, 30, 256, 1, "logistic"),
    ("GradTree step, 1 restart", 1, 6, 30, 30, 256, 1, "logistic"),
)
AT_LEAST = 1.0  # seconds that the runs of a step take together


def report(*, steps: int, out: Path | None) -> int:
    """Time every step with every formulation and print a line for each."""
    rows = []
    print(f"{machine()}, torch threads: {torch.get_num_threads()}")
    for name, *shape in STEPS:
        times = {}
        for backend in ("dense", "torch", "auto"):
            # The dense sum over paths wants minutes and gigabytes at depth 10.
            if backend == "dense" and shape[1] > 6:
                continue
            times[backend] = seconds_a_step(*shape, backend=backend, steps=steps)
        n_trees, depth, n_features, n_offered, n_rows, *_ = shape
        row = {"step": name, "trees": n_trees, "depth": depth, "features": n_features}
        row |= {"offered": n_offered, "rows": n_rows}
        row |= {f"{backend}_ms": 1000 * taken for backend, taken in times.items()}
        rows.append(row)
        told = ", ".join(
            f"{backend} {1000 * taken:.2f} ms ({taken / times['auto']:.1f}x)"
            for backend, taken in times.items()
        )
        print(f"{name}, E={n_trees}, D={depth}, F={n_features}, B={n_rows}: {told}")
    rows += solver_rows(steps)
    rows.append(_oblique(steps))
    rows += table_rows(steps)
    if out is not None:
        out.write_text(json.dumps(rows, indent=1))
    return 0


def _oblique(steps: int) -> dict:
    """Time GET's step for a start and print a line; ours trains all starts at once."""
    made = oblique_steps(**SHAPE)
    dense = median_seconds(made["dense"], steps, at_least=AT_LEAST)
    ours = median_seconds(made["ours"], steps, at_least=AT_LEAST)
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
    n_trees: int,
    depth: int,
    n_features: int,
    n_offered: int,
    n_rows: int,
    n_outputs: int,
    soft: str,
    *,
    backend: str,
    steps: int,
    device: str = "cpu",
) -> float:
    """Median seconds of a step: forward, backward and Adam.

    ``backend`` is "dense" or one of `axis_trees`.
    """
    options = {"generator": torch.Generator(device).manual_seed(0), "device": device}
    shape = (n_trees, 2**depth - 1, n_offered)
    logits = (0.5 * torch.randn(shape, **options)).requires_grad_()
    threshold = torch.randn(shape, **options).requires_grad_()
    leaf = torch.randn(n_trees, 2**depth, n_outputs, **options).requires_grad_()
    x = torch.randn(n_rows, n_features, **options)
    columns = None
    if n_offered < n_features:
        order = torch.rand(n_trees, n_features, **options).argsort(1)
        columns = order[:, :n_offered].contiguous()
    optimizer = torch.optim.Adam([logits, threshold, leaf], fused=True)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        if backend == "dense":
            told = dense_axis_trees(x, logits, threshold, leaf, columns, soft)
        else:
            told = axis_trees(
                x, logits, threshold, leaf, columns=columns, soft=soft, backend=backend
            )
        told.square().mean().backward()
        optimizer.step()

    return median_seconds(step, steps, device, at_least=AT_LEAST)
