"""How long argmin trees' solver takes, forward and backward."""

from torch import Generator, Tensor, float32, full, randn

from treelab.ops.activity import path_scores, ridge_activity, ridge_traversal

# name, trees, depth, rows
SOLVER_STEPS = (
    ("activity, one tree", 1, 6, 512),
    ("activity, 24 strengths", 24, 6, 512),
    ("activity, one deep tree", 1, 10, 4096),
    ("traversal, one tree", 1, 6, 512),
    ("traversal, 24 strengths", 24, 6, 512),
)


def solver_step(name: str, n_trees: int, depth: int, n_rows: int, device: str = "cpu"):
    """Return a function that solves once, forward and backward.

    "activity" starts from path scores and ends at the activity; "traversal" starts
    from split scores and ends at z.
    """
    generator = Generator(device).manual_seed(0)
    shape = (n_trees, 2**depth - 1, n_rows)
    score = randn(shape, generator=generator, device=device, dtype=float32)
    strength = full((n_trees,), 10.0, device=device)
    if name.startswith("activity"):
        start = path_scores(score).requires_grad_()
    else:
        start = score.requires_grad_()

    def step() -> None:
        start.grad = None
        if name.startswith("activity"):
            told: Tensor = ridge_activity(start, strength)
        else:
            told, _ = ridge_traversal(start, strength)
        told.sum().backward()

    return step
