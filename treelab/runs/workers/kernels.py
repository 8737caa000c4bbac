"""Compile the kernels that learners train with before somebody waits for them.

numba compiles them once on a machine, for half a minute, and then reads them from its
cache beside the source. A process of its own does that, at the lowest priority, while
runs may already train; what it is at stands in the data folder for the app to show.
"""

import os
import subprocess
import sys
import time
import warnings
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from treelab.runs.store.files import write_private

FILE = "kernels.json"  # in the data folder, while kernels are compiled
STALE_SECONDS = 300.0  # without a word from the process, which then died
NICENESS = 15
N_ROWS = 60
# Learners with kernels of their own, each trained for a moment.
QUICK_SETTINGS: dict[str, dict] = {
    "grande": {"n_estimators": 4, "depth": 2, "max_epochs": 2},
    "get": {"max_depth": 2, "n_steps": 4, "n_starts": 2},
    "argmin": {"depth": 2, "pruning_strength": (0.0, 10.0), "max_epochs": 2},
}
N_KERNELS = len(QUICK_SETTINGS)


def compiling(home: Path) -> int | None:
    """Count the learners whose kernels are compiled; None where nothing is at it."""
    path = home / FILE
    try:
        if time.time() - path.stat().st_mtime > STALE_SECONDS:
            return None
        return int(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None


def are_compiled() -> bool:
    """Whether numba's cache holds kernels of every module as it stands now."""
    for name in ("axis_trees_numba", "soft_route_numba", "traversal_numba"):
        module = import_module(f"treelab.ops.{name}")
        source = Path(str(module.__file__)).stat().st_mtime
        cache = Path(module._backward.stats.cache_path)
        found = cache.glob(f"{name}._backward-*.nbi")
        if not any(index.stat().st_mtime >= source for index in found):
            return False
    return True


def start_compiling(home: Path) -> None:
    """Compile what is missing in a process of its own, unless one is at it."""
    if compiling(home) is not None or are_compiled():
        return
    write_private(home / FILE, "0")
    subprocess.Popen(
        [sys.executable, "-m", "treelab.runs.workers.kernels", str(home)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=Path(__file__).parents[3],
        start_new_session=True,
    )


def compile_kernels(home: Path) -> None:
    """Train each learner for a moment: its kernels are then in numba's cache."""
    import numpy as np
    import pandas as pd

    from treelab.learners.registry import make_estimator

    random = np.random.default_rng(0)
    X = pd.DataFrame({"a": random.normal(size=N_ROWS), "b": random.random(N_ROWS)})
    y = np.where(X["a"] > 0, "yes", "no")
    try:
        for done, (key, settings) in enumerate(QUICK_SETTINGS.items()):
            write_private(home / FILE, str(done))
            options: dict = {"random_state": 0, "device": "cpu"}
            make_estimator(key, "binary", settings, **options).fit(X, y)
    finally:
        (home / FILE).unlink(missing_ok=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.platform != "win32":
        os.nice(NICENESS)
    with suppress(OSError):  # the folder was deleted
        compile_kernels(Path(sys.argv[1]))
