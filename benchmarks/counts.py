"""Counts with exposure: Poisson deviance on test rows, to scikit-learn's Poisson tree.

Two made tables, as the rates behind them are then known: claims of policies that were
insured for part of a year, and hourly rentals counted over a few hours. The peer is
``DecisionTreeRegressor(criterion="poisson")`` on the rate, weighted by exposure, grown
best first to as many leaves as the learner's tree.
"""

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import mean_poisson_deviance
from sklearn.tree import DecisionTreeRegressor
from tqdm import tqdm

from benchmarks.contenders import encode
from benchmarks.runner import Results, splits
from treelab.bench import machine
from treelab.learners.registry import make_estimator

N_ROWS = {"claims": 8_000, "rentals": 4_000}
SMALLEST = 1e-6  # rate of a leaf without any count, so that the deviance is finite


def run(chosen: Namespace) -> int:
    """Fit all that the file lacks; print deviances and their ratios."""
    results = Results(chosen.out or Path("bench-counts.jsonl"))
    names = chosen.learners.split(",") if chosen.learners else ["cart", "gradtree"]
    for name in tqdm(TABLES):
        X, count, exposure, rate = TABLES[name](np.random.default_rng(0), N_ROWS[name])
        trials = splits(count, "quarters", chosen.trials, seed=chosen.seed)
        for trial, (train, test) in enumerate(trials, start=chosen.seed):
            for key in names:
                if results.has(name, trial, key):
                    continue
                rows = X.iloc[train], (count / exposure)[train], exposure[train]
                held_out = X.iloc[test], (count / exposure)[test], exposure[test]
                row = {"table": name, "trial": trial, "contender": key}
                found = measured(key, rows, held_out, rate[test], trial)
                results.add(row | found | {"machine": machine(), "error": None})
    columns = ["loss", "peer", "ratio", "leaves", "best possible", "to true rate"]
    means = results.frame().groupby(["table", "contender"], sort=False)[columns].mean()
    print(means.round(4).to_string())
    return 0


def measured(key: str, rows: tuple, held_out: tuple, true, seed: int) -> dict:
    """Return deviances of a learner and its peer on test rows, weighted by exposure."""
    X, y, exposure = rows
    X_test, truth, weight = held_out
    learner = make_estimator(key, "regression", {"loss": "poisson"}, random_state=seed)
    learner.fit(X, y, sample_weight=exposure)
    known, unknown = encode(X, y, X_test, "regression", seed)
    n_leaves = max(learner.tree_.n_leaves, 2)
    peer = DecisionTreeRegressor(
        criterion="poisson", max_leaf_nodes=n_leaves, random_state=seed
    ).fit(known, y, sample_weight=exposure)

    def deviance(of: np.ndarray, predicted: np.ndarray) -> float:
        predicted = np.maximum(predicted, SMALLEST)
        return float(mean_poisson_deviance(of, predicted, sample_weight=weight))

    own, other = learner.predict(X_test), peer.predict(unknown)
    loss, loss_of_peer = deviance(truth, own), deviance(truth, other)
    return {
        "loss": loss,
        "peer": loss_of_peer,
        "ratio": loss / loss_of_peer,
        "leaves": int(n_leaves),
        "best possible": deviance(truth, true),
        "to true rate": deviance(true, own) / deviance(true, other),
    }


Made = tuple[pd.DataFrame, np.ndarray, np.ndarray, np.ndarray]
"""Features, counts, exposure and the true rate."""


def claims(rng: np.random.Generator, n: int) -> Made:
    """Claims a year of policies insured for 0.1 to 1 year, as in docs/losses.md."""
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "power": rng.integers(4, 12, n),
            "region": rng.choice(["city", "town", "country"], n, p=[0.3, 0.4, 0.3]),
            "vehicle_age": rng.integers(0, 20, n),
        }
    )
    rate = 0.1 + 0.3 * (X["age"] < 26) + 0.02 * (X["power"] - 4)
    rate *= np.where(X["region"] == "city", 1.5, 1.0) * (1 + 0.03 * X["vehicle_age"])
    exposure = rng.uniform(0.1, 1.0, n).round(2)
    return X, rng.poisson(rate * exposure), exposure, rate.to_numpy()


def rentals(rng: np.random.Generator, n: int) -> Made:
    """Rentals an hour, counted over 1 to 6 hours, overdispersed by a random factor."""
    X = pd.DataFrame(
        {
            "hour": rng.integers(0, 24, n),
            "temperature": rng.normal(14, 8, n).round(1),
            "humidity": rng.uniform(20, 100, n).round(),
            "workday": rng.random(n) < 0.7,
        }
    )
    rush = np.exp(-((X["hour"] - 8) ** 2) / 4) + np.exp(-((X["hour"] - 17.5) ** 2) / 6)
    leisure = np.exp(-((X["hour"] - 14) ** 2) / 18)
    rate = 3 + 40 * np.where(X["workday"], rush, leisure)
    rate *= np.exp(0.04 * X["temperature"].clip(-5, 28)) / 1.5
    rate *= np.where(X["humidity"] > 85, 0.6, 1.0)
    exposure = rng.integers(1, 7, n).astype(float)
    shared = rng.gamma(20, 1 / 20, n)
    return X, rng.poisson(rate * exposure * shared), exposure, rate.to_numpy()


TABLES: dict[str, Callable[[np.random.Generator, int], Made]] = {
    "claims": claims,
    "rentals": rentals,
}
