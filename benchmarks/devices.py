"""Default fits on the CPU and on a GPU: seconds, and accuracy on test rows."""

import time
from argparse import Namespace

import pandas as pd
import torch
from sklearn.metrics import f1_score

from benchmarks.large import TARGET, large_table
from treelab.bench import machine
from treelab.learners.registry import make_estimator
from treelab.training.device import device_name, resolve_device

N_COLUMNS = 21  # with the target
N_TEST = 2000


def run(chosen: Namespace) -> int:
    """Fit each learner on each device, and print a row for each size of the table."""
    devices = chosen.devices.split(",")
    names = ", ".join(device_name(resolve_device(device)) for device in devices)
    print(f"{machine()}, torch threads: {torch.get_num_threads()}, {names}")
    rows = []
    for key in chosen.learners.split(","):
        # A first fit waits for kernels that are compiled or loaded, once a process.
        fits = {device: fitted(key, device, 500)["seconds"] for device in devices}
        print(f"{key}, first fit: {written(fits)}", flush=True)
        for n_rows in map(int, chosen.rows.split(",")):
            found = {device: fitted(key, device, n_rows) for device in devices}
            fits = {device: fit["seconds"] for device, fit in found.items()}
            scores = ", ".join(f"{fit['macro_f1']:.3f}" for fit in found.values())
            print(f"{key}, {n_rows:,} rows: {written(fits)}; {scores}", flush=True)
            rows += [
                {"learner": key, "rows": n_rows, "device": device} | fit
                for device, fit in found.items()
            ]
    if chosen.out is not None:
        pd.DataFrame(rows).to_json(chosen.out, orient="records", indent=1)
    return 0


def fitted(key: str, device: str, n_rows: int) -> dict[str, float]:
    """Seconds of a default fit, by the clock, and macro F1 on other rows."""
    table = large_table(n_rows + N_TEST, N_COLUMNS)
    X, y = table.drop(columns=TARGET), table[TARGET].to_numpy()
    learner = make_estimator(key, "binary", {}, random_state=0, device=device)
    began = time.perf_counter()
    learner.fit(X[:n_rows], y[:n_rows])
    seconds = time.perf_counter() - began
    macro_f1 = f1_score(y[n_rows:], learner.predict(X[n_rows:]), average="macro")
    return {"seconds": seconds, "macro_f1": float(macro_f1)}


def written(seconds: dict[str, float]) -> str:
    """Write seconds by device, and how many times as fast each is as the last."""
    last = [*seconds.values()][-1]
    return ", ".join(
        f"{device} {taken:.2f} s ({last / taken:.1f}x)"
        for device, taken in seconds.items()
    )
