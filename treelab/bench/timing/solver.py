"""How long argmin trees' solver takes, and what restarts cost to train."""

from collections.abc import Callable

import numpy as np
from torch import Generator, Tensor, float32, full, randn

from treelab.bench.timing.clock import medians
from treelab.learners.argmin.estimators import ArgminTreeClassifier
from treelab.ops.activity import path_scores, ridge_activity, ridge_traversal

# name, trees, depth, rows
SOLVER_STEPS = (
    ("activity, one tree", 1, 6, 512),
    ("activity, 24 trees", 24, 6, 512),
    ("activity, one deep tree", 1, 10, 4096),
    ("traversal, one tree", 1, 6, 512),
    ("traversal, 24 trees", 24, 6, 512),
)
SOLVER_RUNS = 5  # a solve is short: so many for every step that is asked for
RESTARTS = 16
EPOCHS, ROWS, FEATURES, DEPTH = 20, 5000, 20, 5
FITS = 3


def solver_rows(steps: int) -> list[dict]:
    """Time the solver, then the training of one tree and of 16; print both.

    Parameters
    ----------
    steps : int
        The solver's medians are taken of `SOLVER_RUNS` times as many runs.

    Returns
    -------
    list of dict
        As ``bench speed`` saves them.
    """
    names = [name for name, *_ in SOLVER_STEPS]
    solves = [solver_step(*step) for step in SOLVER_STEPS]
    seconds = dict(zip(names, medians(solves, SOLVER_RUNS * steps)))
    rows: list[dict] = []
    for name, n_trees, depth, n_rows in SOLVER_STEPS:
        row = {
            "step": name,
            "shape": [n_trees, depth, n_rows],
            "auto_ms": 1000 * seconds[name],
        }
        line = f"{name}, E={n_trees}, D={depth}, B={n_rows}: {row['auto_ms']:.2f} ms"
        if n_trees > 1:
            one_tree = name.split(",")[0] + ", one tree"
            row["times_one"] = seconds[name] / seconds[one_tree]
            line += f" ({row['times_one']:.1f} times one tree)"
        rows.append(row)
        print(line)
    one, many = medians([argmin_fit(1), argmin_fit(RESTARTS)], FITS)
    for name, taken in (("1 restart", one), (f"{RESTARTS} restarts", many)):
        row = {"step": f"argmin fit, {name}", "auto_ms": 1000 * taken / EPOCHS}
        rows.append(row | {"times_one": taken / one})
        print(
            f"argmin fit, {name}, D={DEPTH}, {ROWS:,} rows: {row['auto_ms']:.1f} ms an "
            f"epoch ({taken / one:.1f} times one restart)"
        )
    return rows


def solver_step(
    name: str, n_trees: int, depth: int, n_rows: int, device: str = "cpu"
) -> Callable[[], None]:
    """Return a function that solves once, forward and backward.

    "activity" starts from path scores and ends at the activity; "traversal" starts
    from split scores and ends at z. Every tree has scores of its own, as in training.
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
        solution: Tensor
        if name.startswith("activity"):
            solution = ridge_activity(start, strength)
        else:
            solution, _ = ridge_traversal(start, strength)
        solution.sum().backward()

    return step


def argmin_fit(
    n_restarts: int, n_rows: int = ROWS, epochs: int = EPOCHS
) -> Callable[[], None]:
    """Return a function that trains trees side by side, export included."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows * 5 // 4, FEATURES))
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)

    def fit() -> None:
        model = ArgminTreeClassifier(
            depth=DEPTH,
            pruning_strength=10.0,
            n_restarts=n_restarts,
            max_epochs=epochs,
            sparse_splits=False,
            patience=epochs,
            random_state=0,
        )
        rest = slice(n_rows, None)
        model.fit(X[:n_rows], y[:n_rows], X_valid=X[rest], y_valid=y[rest])

    return fit
