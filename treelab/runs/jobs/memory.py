"""How much memory a training needs, coarsely, before it begins.

What counts is the largest tensors of a step, times how often a step holds one of their
size: values, gradients and what lies between. On 40,000 rows of 20 columns, peaks were
measured of 0.24 GB for GradTree (estimated 0.26), 0.33 for argmin trees (0.28), 0.21
for GET (0.15) and 0.09 for CART (0.06). A run is refused only where even a third of its
estimate is more than all memory that is free, so that none is refused in vain.
"""

import math
from collections.abc import Callable
from pathlib import Path

import psutil

from treelab.data.problem import Problem
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore

FLOAT32, FLOAT64 = 4, 8  # bytes
TABLE_COPIES = 10  # of the columns as float64: the frame, its parts, their encodings
STEP_COPIES = 10  # of a step's largest tensor
OPTIMIZER_COPIES = 6  # of parameters: gradient, two averages, the best, the start
RIVALS = 4  # columns that a split of GradTree chooses from
GET_DEPTH = 6  # levels that GET trains as a whole where its depth is open
TRIED = 60  # columns and sums of them that a greedy oblique split tries
CERTAIN = 3.0  # by which an estimate may be too high
CGROUP = Path("/sys/fs/cgroup")


def check_memory(store: RunStore, run: Run) -> None:
    """Raise MemoryError, with what to try, where a training cannot fit here."""
    problem = run.problem
    rows = {info.id: info.n_rows for info in store.tables()}
    n_rows, free = rows.get(problem.table_id, 0), free_bytes()
    n_classes = 1
    if problem.task == "multiclass" and not problem.awaits_clusters:
        target = store.table(problem.table_id, [problem.target])[problem.target]
        n_classes = int(target.nunique())
    needed = needed_bytes(run.learner, run.settings, problem, n_rows, n_classes)
    if needed > CERTAIN * free:
        classes = f", {n_classes:,} classes" if n_classes > 1 else ""
        raise MemoryError(
            f"This training needs about {needed / 1e9:,.1f} GB of memory, and "
            f"{free / 1e9:,.1f} GB are free: {n_rows:,} rows, "
            f"{len(problem.columns):,} columns{classes}. {_advice(run.settings)}"
        )


def needed_bytes(
    learner: str, settings: dict, problem: Problem, n_rows: int, n_outputs: int = 1
) -> float:
    """Estimate the memory that a training takes, in bytes.

    A learner without an estimate of its own needs what its table of so many rows takes.
    The outputs are classes where there are more than two: each leaf, and each row of a
    step's batch, holds a number for each.
    """
    n_columns = max(len(problem.columns), 1)
    table = FLOAT64 * TABLE_COPIES * n_rows * n_columns
    if learner not in _ESTIMATES:
        return table
    own, output = _ESTIMATES[learner](settings, n_rows, n_columns)
    return table + own + (n_outputs - 1) * output


def is_out_of_memory(error: Exception) -> bool:
    """Whether a GPU's memory was too small."""
    return type(error).__name__ == "OutOfMemoryError"  # torch's; importing it is slow


def free_bytes() -> float:
    """Memory that a process here may still take: the machine's, or its container's."""
    free = float(psutil.virtual_memory().available)
    try:
        limit = (CGROUP / "memory.max").read_text().strip()
        used = (CGROUP / "memory.current").read_text().strip()
        if limit != "max":
            free = min(free, float(limit) - float(used))
    except (OSError, ValueError):  # no container, or none that says
        pass
    return max(free, 0.0)


# By learner: the bytes that it takes, and those of each output after the first.


def _gradtree(settings: dict, n_rows: int, n_columns: int) -> tuple[float, float]:
    """Soft splits of every plan, fold and restart, E S K B; weights of rows, E n.

    Of an output: leaves of every set and size, E L; their rows' values, E B.
    """
    n_sets, most = settings["n_restarts"], settings["max_leaf_nodes"]
    batch = min(settings["batch_size"], n_rows)
    if settings.get("recipe") == "paper":
        n_leaves = n_sets * 2 ** settings["max_depth"]
        parameters = 2 * FLOAT32 * n_leaves * n_columns
        step = FLOAT32 * STEP_COPIES * n_leaves * batch
        own = OPTIMIZER_COPIES * parameters + step
    else:
        n_sets = max(15, n_sets)  # folds by repeats, each with trees of all sizes
        n_sizes = 2 + math.log2(max(most, 2))
        n_leaves = n_sets * 2 * most
        step = FLOAT32 * STEP_COPIES * n_leaves * RIVALS * batch
        own = step + FLOAT32 * n_sets * n_rows * (n_sizes + 2 * n_columns)
    n_trees = n_sets * math.log2(max(most, 2))
    leaves = OPTIMIZER_COPIES * n_leaves
    return own, FLOAT32 * (leaves + STEP_COPIES * n_trees * batch)


def _grande(settings: dict, n_rows: int, n_columns: int) -> tuple[float, float]:
    """Logits and thresholds of every split and column, E N F; weights of rows, G n.

    Of an output: leaves of every tree, E L; the values of a batch's rows, E B.
    """
    fraction, n_trees = settings["selected_variables"], settings["n_estimators"]
    used = min(fraction, 1.0) * n_columns if fraction > 0 else n_columns
    n_leaves = 2 ** settings["depth"]
    parameters = 2 * FLOAT32 * (n_trees * (n_leaves - 1)) * used
    seen = n_trees if settings["data_fraction"] < 1 else 0
    # In place of the best alone, each checkpoint that is averaged.
    copies = OPTIMIZER_COPIES - 1 + settings["n_averaged"]
    batch = STEP_COPIES * n_trees * min(settings["batch_size"], n_rows)
    output = FLOAT32 * (OPTIMIZER_COPIES * (n_trees * n_leaves) + batch)
    own = copies * parameters + n_rows * (seen + FLOAT32 * settings["n_folds"])
    return own, output


def _get(settings: dict, n_rows: int, n_columns: int) -> tuple[float, float]:
    """Margins E N B of a step; what greedy splits try of all rows, n F.

    Of an output: values on their way up through soft splits, E N B.
    """
    batch = min(settings["batch_size"] or n_rows, n_rows)
    depth, trained = settings["max_depth"], settings.get("trained_depth", GET_DEPTH)
    depth = min(GET_DEPTH if isinstance(depth, str) else depth, trained)
    n_splits = settings["n_starts"] * 2**depth
    output = FLOAT32 * n_splits * batch
    parameters = OPTIMIZER_COPIES * FLOAT32 * n_splits * n_columns
    tried = 2 * FLOAT64 * n_rows * (n_columns + TRIED)
    return STEP_COPIES * output + parameters + tried, output


def _argmin(settings: dict, n_rows: int, n_columns: int) -> tuple[float, float]:
    """Traversals E T B of a step; scores of all rows where splits get sparse, E N n."""
    n_nodes = settings["n_restarts"] * 2 ** (settings["depth"] + 1)
    step = FLOAT32 * STEP_COPIES * n_nodes * min(settings["batch_size"], n_rows)
    parameters = OPTIMIZER_COPIES * FLOAT32 * n_nodes * n_columns
    return step + parameters + 4 * FLOAT32 * n_nodes * n_rows, 0


def _optimal(settings: dict, n_rows: int, n_columns: int) -> tuple[float, float]:
    """A number for each row and candidate threshold, as the search holds it, too."""
    return 2 * FLOAT32 * n_rows * n_columns * settings["n_thresholds"], 0


_ESTIMATES: dict[str, Callable[[dict, int, int], tuple[float, float]]] = {
    "gradtree": _gradtree,
    "grande": _grande,
    "get": _get,
    "argmin": _argmin,
    "optimal": _optimal,
}


def _advice(settings: dict) -> str:
    """Name the settings that make a training smaller."""
    known = ("n_estimators", "n_restarts", "n_starts", "batch_size", "depth")
    smaller = [name for name in known if isinstance(settings.get(name), int)]
    if not smaller:
        return "Try fewer rows or columns."
    return f"Try a smaller {' or '.join(smaller[:2])}, or fewer rows or columns."
