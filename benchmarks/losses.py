"""Quantiles: mean pinball loss on test rows, beside peers with the same loss.

A single tree stands beside a squared-error CART of as many leaves that are refitted to
the quantile; GET-Linear beside linear quantile regression and a LightGBM of one tree's
leaves; GRANDE beside LightGBM and scikit-learn's gradient boosting.
"""

import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import QuantileRegressor
from sklearn.metrics import mean_pinball_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor
from tqdm import tqdm

from benchmarks.contenders import encode
from benchmarks.runner import Results, splits
from benchmarks.tables import choose, read_manifest
from treelab.bench import machine
from treelab.evaluation.metrics import coverage
from treelab.learners.registry import make_estimator
from treelab.trees.losses import Loss

LEVELS = (0.1, 0.5, 0.9)
SINGLE_TREES = ("cart", "gradtree", "get")  # of which an interval is measured, too
SMALL = {"n_estimators": 8, "num_leaves": 8}  # 64 leaves in all
RATES = (0.1, 0.2, 0.4, 0.7, 1.0)  # of the small LightGBM, by a fifth held out
Rows = tuple[pd.DataFrame, np.ndarray, pd.DataFrame]  # training rows, test rows


def report(chosen: Namespace) -> int:
    """Fit all that the file lacks, print what is in it."""
    results = Results(chosen.out or Path("bench-losses.jsonl"))
    names = chosen.contenders.split(",") if chosen.contenders else [*CONTENDERS]
    for table in tqdm(
        choose(read_manifest(chosen.data), None, ("regression",), chosen.tables)
    ):
        X, y = table.load()
        trials = splits(y, "quarters", chosen.trials, seed=chosen.seed)
        for trial, (train, test) in enumerate(trials, start=chosen.seed):
            rows = X.iloc[train], y[train], X.iloc[test]
            for name in names:
                if results.has(table.name, trial, name):
                    continue
                row = {"table": table.name, "trial": trial, "contender": name}
                found = measured(CONTENDERS[name], rows, y[test], trial)
                if name in SINGLE_TREES:
                    found["inside"] = fraction_inside(name, rows, y[test], trial)
                results.add(row | {"machine": machine(), "error": None} | found)
    print(summary(results.frame()))
    return 0


def fraction_inside(key: str, rows: Rows, truth: np.ndarray, seed: int) -> float:
    """Return the fraction of test rows in the interval of a default fit, of 0.8."""
    X, y, X_test = rows
    model = make_estimator(key, "regression", {}, random_state=seed).fit(X, y)
    return coverage(truth, model.predict_interval(X_test))


def measured(fit: Callable, rows: Rows, truth: np.ndarray, seed: int) -> dict:
    """Return pinball losses by level, the first of the contender, the second its peer.

    In units of that of the best constant; the peer of a single tree is the refitted
    CART of as many leaves, NaN where there is none.
    """
    began = time.process_time()
    found: dict[str, float] = {}
    for level in LEVELS:
        own, peer = fit(*rows, level, seed)
        constant = np.full(len(truth), np.quantile(rows[1], level))
        unit = mean_pinball_loss(truth, constant, alpha=level)
        losses = [
            np.nan
            if each is None
            else mean_pinball_loss(truth, each, alpha=level) / unit
            for each in (own, peer)
        ]
        found |= {f"loss_{level}": losses[0], f"peer_{level}": losses[1]}
        found[f"below_{level}"] = float(np.mean(truth <= own))
    return found | {"cpu_seconds": round(time.process_time() - began, 1)}


def _ours(key: str, **settings) -> Callable:
    """Return how a learner of ours predicts a quantile of test rows, and its peer."""

    def fit(X, y, X_test, level: float, seed: int):
        asked = {"loss": "quantile", "quantile": level} | settings
        learner = make_estimator(key, "regression", asked, random_state=seed)
        predicted = learner.fit(X, y).predict(X_test)
        if not hasattr(learner, "path_"):
            return predicted, None
        known, unknown = encode(X, y, X_test, "regression", seed)
        size = max(learner.tree_.n_leaves, 2)
        grown = DecisionTreeRegressor(max_leaf_nodes=size, random_state=seed)
        leaf = grown.fit(known, y).apply(known)
        refitted = Loss("quantile", level).constants(
            leaf, np.asarray(y, dtype=float), np.ones(len(y)), grown.tree_.node_count
        )
        return predicted, refitted[grown.apply(unknown)]

    return fit


def _lightgbm(X, y, X_test, level: float, seed: int):
    """LightGBM's default with this loss."""
    known, unknown = encode(X, y, X_test, "regression", seed)
    return _lightgbm_of(level, seed).fit(known, y).predict(unknown), None


def _small_lightgbm(X, y, X_test, level: float, seed: int):
    """LightGBM with one tree's leaves, at the rate that held-out rows choose."""
    known, unknown = encode(X, y, X_test, "regression", seed)
    rows = train_test_split(known, y, test_size=0.2, random_state=seed)
    models = [_lightgbm_of(level, seed, learning_rate=rate, **SMALL) for rate in RATES]
    losses = [
        mean_pinball_loss(
            rows[3], model.fit(rows[0], rows[2]).predict(rows[1]), alpha=level
        )
        for model in models
    ]
    best = models[int(np.argmin(losses))]
    return best.fit(known, y).predict(unknown), None


def _lightgbm_of(level: float, seed: int, **settings):
    """Return LightGBM with the quantile's loss."""
    from lightgbm import LGBMRegressor

    own: dict[str, Any] = {"random_state": seed, "verbose": -1, "n_jobs": 1}
    return LGBMRegressor(objective="quantile", alpha=level, **own | settings)


def _xgboost(X, y, X_test, level: float, seed: int):
    """Gradient boosting of xgboost, its default with this loss."""
    from xgboost import XGBRegressor

    known, unknown = encode(X, y, X_test, "regression", seed)
    model = XGBRegressor(
        objective="reg:quantileerror", quantile_alpha=level, random_state=seed, n_jobs=1
    )
    return model.fit(known, y).predict(unknown), None


def _linear(X, y, X_test, level: float, seed: int):
    """Linear quantile regression, exactly."""
    known, unknown = encode(X, y, X_test, "regression", seed)
    model = QuantileRegressor(quantile=level, alpha=0, solver="highs")
    scaler = StandardScaler().fit(known)
    known, unknown = scaler.transform(known), scaler.transform(unknown)
    return model.fit(known, y).predict(unknown), None


def _boosting(X, y, X_test, level: float, seed: int):
    """scikit-learn's gradient boosting, its default with this loss."""
    known, unknown = encode(X, y, X_test, "regression", seed)
    model = HistGradientBoostingRegressor(
        loss="quantile", quantile=level, random_state=seed
    )
    return model.fit(known, y).predict(unknown), None


CONTENDERS = {
    "cart": _ours("cart"),
    "gradtree": _ours("gradtree"),
    "gradtree-untrained": _ours(
        "gradtree",
        learning_rate_index=0.0,
        learning_rate_values=0.0,
        learning_rate_leaf=0.0,
    ),
    "get": _ours("get"),
    "get-linear": _ours("get", leaves="linear"),
    "grande": _ours("grande"),
    "grande-few": _ours("grande", init="both", max_deciders=20, concentration=2.4),
    "linear": _linear,
    "lightgbm": _lightgbm,
    "lightgbm-small": _small_lightgbm,
    "xgboost": _xgboost,
    "boosting": _boosting,
}


def summary(results: pd.DataFrame) -> str:
    """Write mean losses by table and contender, and what lies below each quantile."""
    columns = [f"{name}_{level}" for level in LEVELS for name in ("loss", "peer")]
    columns += [f"below_{level}" for level in LEVELS]
    columns += ["inside"] if "inside" in results else []
    means = results.groupby(["table", "contender"])[columns].mean()
    loss = means[[f"loss_{level}" for level in LEVELS]].mean(axis=1)
    peer = means[[f"peer_{level}" for level in LEVELS]].mean(axis=1)
    means.insert(0, "loss", loss)
    means.insert(1, "to refitted", loss / peer)
    return means.round(3).to_string()
