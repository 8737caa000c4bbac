"""``treelab bench``: how fast learners train on this machine."""

from argparse import Namespace
from pathlib import Path

from treelab.cli.arguments import command


@command(
    "bench",
    "measure speed on this machine",
    """
    measurement  time a step of each operator against its dense formulation
    --steps  steps a measurement (default: 10)
    [device]
    --out  JSON file to write
    """,
    measurement={"choices": ("speed",)},
    steps={"type": int, "default": 10},
    out=Path,
)
def bench(chosen: Namespace) -> int:
    """Time the operators and print ratios."""
    if chosen.steps < 1:
        raise ValueError(f"--steps must be at least 1, got {chosen.steps}.")
    from treelab.bench import report

    return report(steps=chosen.steps, device=chosen.device, out=chosen.out)
