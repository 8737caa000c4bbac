"""How far predicted probabilities can be believed, on every table of classes.

Each contender's log loss on test rows stands beside that of the training rows' class
frequencies, and its expected calibration error (Guo et al., "On Calibration of Modern
Neural Networks", ICML 2017, arXiv:1706.04599): by how much the probability of the most
probable class differs from how often it is right, in ten bins of equal width.
"""

import time
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier
from tqdm import tqdm

from benchmarks.contenders import encode
from benchmarks.runner import Results, splits
from benchmarks.tables import choose, read_manifest
from treelab.bench import machine
from treelab.evaluation.metrics import baseline_loss, scores
from treelab.learners.registry import LEARNERS, make_estimator
from treelab.trees.words import listed

N_BINS = 10
FEW_ROWS = 500  # tables above have test rows enough for a calibration error
CALIBRATED_CART, XGBOOST = "calibrated CART", "xgboost"
ONE_CALIBRATED = "one calibrated CART"
_GRID = {"max_depth": [2, 3, 4, 6, 8, 10, None], "min_samples_leaf": [1, 5, 20]}

Predicted = tuple[np.ndarray, np.ndarray, np.ndarray]  # labels, probabilities, classes


def calibration_bins(probabilities: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Sum up rows by the probability of their most probable class.

    Parameters
    ----------
    probabilities : ndarray of shape (n_rows, n_classes)
    truth : int array of shape (n_rows,)
        Class codes.

    Returns
    -------
    ndarray of shape (3, N_BINS)
        Rows, their summed probability, and how many are of that class. Of several
        splits these add up.
    """
    sure = probabilities.max(axis=1)
    bins = np.minimum((sure * N_BINS).astype(int), N_BINS - 1)
    right = probabilities.argmax(axis=1) == truth
    parts = (np.ones(len(sure)), sure, right)
    return np.stack([np.bincount(bins, part, N_BINS) for part in parts])


def calibration_error(bins: np.ndarray) -> float:
    """Return the expected calibration error of ``calibration_bins``, 0 to 1."""
    n_rows, sure, right = bins
    return float(np.abs(sure - right).sum() / n_rows.sum())


def report(chosen: Namespace) -> int:
    """Fit all that the file lacks, print what is in it."""
    results = Results(chosen.out or Path("bench-probabilities.jsonl"))
    known = contenders()
    names = chosen.contenders.split(",") if chosen.contenders else [*known]
    if unknown := set(names) - set(known):
        raise ValueError(
            f"There is no contender {listed(sorted(unknown))}; there are "
            f"{', '.join(known)}."
        )
    tasks = ("binary", "multiclass")
    tables = choose(read_manifest(chosen.data), None, tasks, chosen.tables)
    n_rows = {table.name: len(table.load()[1]) for table in tables}
    if chosen.max_rows is not None:
        tables = [own for own in tables if n_rows[own.name] <= chosen.max_rows]
    for table in tqdm(sorted(tables, key=lambda own: n_rows[own.name]), unit="table"):
        X, y = table.load()
        trials = splits(y, "random", chosen.trials, seed=chosen.seed)
        for trial, (train, test) in enumerate(trials, start=chosen.seed):
            for name in names:
                if results.has(table.name, trial, name):
                    continue
                row = {"table": table.name, "trial": trial, "contender": name}
                row |= {"rows": n_rows[table.name], "machine": machine()}
                found = measured(known[name], X, y, train, test, table.task, trial)
                results.add(row | found)
    frame = results.frame()
    print(summary(frame[frame["table"].isin([own.name for own in tables])]))
    return 0


def measured(fit, X, y, train, test, task: str, seed: int) -> dict:
    """Fit one contender on one split; return its scores, or why there are none."""
    began = time.perf_counter()
    try:
        labels, proba, classes = fit(X.iloc[train], y[train], X.iloc[test], task, seed)
    except Exception as error:  # a benchmark must go on
        return {"error": f"{type(error).__name__}: {error}"}
    seconds = time.perf_counter() - began
    found = scores(task, y[test], labels, proba, classes)
    known = np.isin(y[test], classes)
    codes = np.searchsorted(classes, y[test][known])
    return {
        "log_loss": found["log_loss"],
        "baseline": baseline_loss(task, y[train], y[test]),
        "macro_f1": found["macro_f1"],
        "bins": calibration_bins(proba[known], codes).tolist(),
        "seconds": round(seconds, 2),
        "error": None,
    }


def contenders() -> dict[str, Callable[..., Predicted]]:
    """Return what is measured, by name: our learners and what they are held to."""
    return {
        **{key: _ours(key) for key in LEARNERS},
        CALIBRATED_CART: _calibrated_cart,
        ONE_CALIBRATED: partial(_calibrated_cart, ensemble=False),
        XGBOOST: _xgboost,
    }


def summary(results: pd.DataFrame) -> str:
    """Write means over the tables that all contenders have, and what is too high."""
    failed = results[results["error"].notna()]
    results = results[results["error"].isna()]
    means = results.pivot_table("log_loss", "table", "contender", aggfunc="mean")
    all_have = means.dropna().index
    baseline = results.groupby("table")["baseline"].mean()
    errors = (
        results.groupby(["table", "contender"])["bins"]
        .agg(lambda own: calibration_error(np.sum([*map(np.array, own)], axis=0)))
        .unstack("contender")
    )
    large = results.groupby("table")["rows"].first() > FEW_ROWS
    lines = [
        f"{len(means)} tables, {len(all_have)} of which every contender was fitted to.",
        "",
        "Mean log loss of these, and calibration error of those above "
        f"{FEW_ROWS} rows (test rows of the splits pooled):",
    ]
    lines.append(f"{'class frequencies':<20}{baseline[all_have].mean():8.3f}")
    for name in means:
        own = errors[name].reindex(all_have[large[all_have]])
        above = means.index[means[name] > baseline[means.index] + 1e-9]
        words = f"; not below the frequencies: {', '.join(above)}" if len(above) else ""
        lines.append(
            f"{name:<20}{means[name][all_have].mean():8.3f}{own.mean():8.3f}"
            f"{(own > 0.05).sum():5d} above 0.05{words}"
        )
    shown = pd.concat([baseline.rename("frequencies"), means], axis=1)
    lines += ["", "Log loss by table:", shown.round(3).to_string(na_rep="")]
    shown = errors.assign(above_500=large)
    lines += ["", "Calibration error by table:", shown.round(3).to_string(na_rep="")]
    for _, row in failed.iterrows():
        lines.append(f"{row['table']}, {row['contender']}: {row['error']}")
    return "\n".join(lines)


def _ours(key: str) -> Callable[..., Predicted]:
    """One of our learners at its defaults."""

    def fit(X, y, X_test, task, seed):
        model = make_estimator(key, task, {}, random_state=seed).fit(X, y)
        return model.predict(X_test), model.predict_proba(X_test), model.classes_

    return fit


def _calibrated_cart(X, y, X_test, task, seed, ensemble=True) -> Predicted:
    """scikit-learn's tuned tree, calibrated: the mean of five, its default, or one."""
    X, X_test = encode(X, y, X_test, task, seed)
    tuned = GridSearchCV(DecisionTreeClassifier(random_state=seed), _GRID, cv=5)
    model = CalibratedClassifierCV(tuned, cv=5, ensemble=ensemble).fit(X, y)
    return model.predict(X_test), model.predict_proba(X_test), model.classes_


def _xgboost(X, y, X_test, task, seed) -> Predicted:
    """Boosted trees of xgboost, at its defaults."""
    from xgboost import XGBClassifier

    X, X_test = encode(X, y, X_test, task, seed)
    classes, codes = np.unique(y, return_inverse=True)
    model = XGBClassifier(random_state=seed).fit(X, codes)
    return classes[model.predict(X_test)], model.predict_proba(X_test), classes
