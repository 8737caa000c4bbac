"""A seed gives the same model, however many threads compute it."""

import json
import os
import subprocess
import sys

import pytest

FIT_ALL = """
import hashlib, json, sys
import numpy as np, pandas as pd, torch
from treelab.learners.common import folds
from treelab.learners.registry import LEARNERS, make_estimator

folds.REPEATED_ROWS = 0  # drawn once, which is faster

SMALL = {
    "cart": {"min_samples_leaf": 50, "max_leaf_nodes": 16},
    "gradtree": {"n_restarts": 4, "n_steps": 8, "max_leaf_nodes": 8},
    "grande": {"n_estimators": 16, "max_epochs": 2},
    "get": {"max_depth": 3, "n_steps": 20, "n_starts": 4},
    "argmin": {"depth": 3, "max_epochs": 2},
    "optimal": {"max_depth": 2},
}
rng = np.random.default_rng(0)
X = pd.DataFrame(rng.normal(size=(3000, 12)).round(3), columns=[*"abcdefghijkl"])
score = np.sin(2 * X["a"]) + X["b"] * X["c"] + 0.3 * rng.normal(size=len(X))
y = pd.Series(np.where(score > 0, "yes", "no"))
found = {"threads": str(torch.get_num_threads())}
for learner in LEARNERS:
    try:
        estimator = make_estimator(
            learner, "binary", SMALL[learner], random_state=0, device="cpu"
        )
        model = json.dumps(estimator.fit(X, y).model_.to_dict())
    except ImportError:
        continue
    found[learner] = hashlib.sha256(model.encode()).hexdigest()
found["compiler"] = str("torch._dynamo" in sys.modules)
print(json.dumps(found))
"""


def models(n_threads: int) -> dict[str, str]:
    """Digests of every learner's model, computed with so many threads."""
    names = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS")
    threads = dict.fromkeys(names, str(n_threads))
    ended = subprocess.run(
        [sys.executable, "-c", FIT_ALL],
        env=os.environ | threads,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.timeout(500)
def test_models_are_the_same_with_one_thread_and_with_two():
    one, two = models(1), models(2)
    assert (one.pop("threads"), two.pop("threads")) == ("1", "2")
    assert one["compiler"] == "False"  # which takes a second to load
    assert set(one) >= {"cart", "gradtree", "grande", "get", "argmin"}
    assert one == two
