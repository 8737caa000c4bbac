"""Scores of predictions, the same names and the same formulas everywhere."""

from typing import Any

import numpy as np
import pandas as pd

from treelab.data.encoding import power_of_two
from treelab.data.split import SPLITS, DataSplit
from treelab.evaluation.routing import rows_passing
from treelab.trees.losses import Loss
from treelab.trees.pruning_path import Model
from treelab.trees.text import error_text
from treelab.trees.tree import knows_interval, labels, predicts_several
from treelab.trees.words import significant

TITLES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "macro_f1": "macro F1",
    "log_loss": "log loss",
    "r2": "R²",
    "d2": "D²",
    "rmse": "RMSE",
    "mae": "MAE",
    "coverage": "interval coverage",
}
COST_SAVED = "cost saved"  # of that of one prediction for all, by costs of errors
BASELINE = "baseline_log_loss"  # of the class frequencies of the training rows
BASELINE_ERROR = "baseline_log_loss_error"  # standard error of the two's difference
SURE = 1.645  # standard errors that a mean exceeds by chance in 5% of tables
SAME_LOSS = 1e-9  # nats between losses that are one
_RESAMPLES = 200  # of a standard error
IN_UNITS = ("rmse", "mae")  # errors in the target's own units
LOWER_IS_BETTER = frozenset({"rmse", "mae", "log_loss"})


def score_text(name: str, value: float, model: Model) -> str:
    """Write a score; an error has the target's unit, and of predicted times is one."""
    return error_text(model, value) if name in IN_UNITS else significant(value)


def differ(task: str, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Whether two predictions of each row differ, numbers by more than rounding."""
    if task != "regression":
        return first != second
    first, second = first.astype(float), second.astype(float)
    return np.abs(first - second) > 1e-9 * np.abs(first).max(initial=0.0)


def by_row(values, n_rows: int, what: str, *, may_lack: bool = False) -> np.ndarray:
    """Return values of rows, (n_rows,) also where they are a table of one column.

    Beside (n_rows,) numpy takes (n_rows, 1) for as many columns as there are rows.
    ValueError, whose message begins with ``what``, if there are not so many, or one is
    missing and none ``may_lack``.
    """
    values = np.asarray(values)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim == 0 or len(values) != n_rows:
        raise ValueError(
            f"{what} must have a value for each of the {n_rows} rows, got shape "
            f"{values.shape}."
        )
    missing = pd.isna(values)
    if missing.any() and not may_lack:
        row = int(missing.reshape(n_rows, -1).any(axis=1).argmax())
        raise ValueError(f"{what} has no value in row {row}, counted from 0.")
    return values


def check_labels_alike(truth: np.ndarray, *predictions: np.ndarray) -> None:
    """Raise ValueError where labels (n_rows,) are text here and numbers there."""
    first, *others = (each[:1].tolist()[0] for each in (truth, *predictions))
    if len({isinstance(label, str) for label in (first, *others)}) > 1:
        predicted = " and ".join(map(repr, others))
        raise ValueError(
            f"Of the first row the truth is {first!r}, and predicted is {predicted}. "
            "Write labels alike."
        )


def headline(task: str, loss: Loss | None = None) -> str:
    """Name the one score by which models of a task, trained for a loss, compare.

    ``loss`` is None for the squared error and for classes.
    """
    if loss is not None:
        return "d2"
    return "r2" if task == "regression" else "macro_f1"


def coverage(y, interval: np.ndarray, weight=None) -> float:
    """Return the fraction of values (n,) in their intervals (n, 2), ends included.

    A value that differs from an end by no more than rounding lies on it.
    """
    values, (low, high) = np.asarray(y, dtype=np.float64), interval.T
    slack = 1e-12 * np.maximum(abs(low), abs(high))
    inside = (values >= low - slack) & (values <= high + slack)
    return float(np.average(inside, weights=weight))


def scores(
    task,
    y_true,
    y_pred,
    proba=None,
    classes=None,
    *,
    sample_weight=None,
    loss: Loss | None = None,
) -> dict[str, float]:
    """Score predictions against the truth.

    Both are (n_rows,), labels or values in the units of the target, with at least one
    row. Of classes: ``accuracy``, ``balanced_accuracy``, ``macro_f1``, and with
    ``proba`` (n_rows, n_classes), in the order of ``classes``, the ``log_loss``. Of
    regression: ``r2`` (a fraction; NaN for a single row), ``rmse`` and ``mae`` in the
    units of the target, and with another loss than the squared error its ``d2``, see
    ``Loss.score``. And ``n_rows``. Of several targets (n_rows, C) the mean ``r2`` and
    ``d2`` alone; of several quantiles what is no ``d2`` is that of the one nearest the
    median.
    """
    # Here: pages know scores by name long before one is measured.
    from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

    y_true, y_pred = np.asarray(y_true), np.asarray(y_pred)
    if y_pred.ndim == 2:
        each = output_scores(y_true, y_pred, loss, sample_weight)
        names: list[str] = [name for name in ("d2", "r2") if name in each[0]]
        mean = {name: float(np.mean([one[name] for one in each])) for name in names}
        if loss is not None and loss.levels:
            return each[loss.middle] | {"d2": mean["d2"]}
        return mean | {"n_rows": len(y_true)}
    own = {"sample_weight": sample_weight}
    if len(y_true) == 0:
        raise ValueError("There is no row to score; give at least one.")
    found: dict[str, float] = {}
    if task == "regression":
        if loss is not None:
            values = np.asarray(y_true, dtype=np.float64)
            found["d2"] = loss.score(y_pred, values, sample_weight)
        unit = power_of_two(y_true)
        y_true, y_pred = y_true / unit, y_pred / unit
        moved = y_true - y_true[0], y_pred - y_true[0]  # equal values: exact zeros
        found["r2"] = r2_score(*moved, **own) if len(y_true) > 1 else np.nan
        found["rmse"] = unit * root_mean_squared_error(y_true, y_pred, **own)
        found["mae"] = unit * mean_absolute_error(y_true, y_pred, **own)
    else:
        check_labels_alike(y_true, y_pred)
        codes, labels = pd.factorize(np.append(y_true, y_pred))  # no sorting of text
        if (codes < 0).any():
            raise ValueError("A label is missing; leave such rows out of the score.")
        truth, predicted = codes.reshape(2, -1)
        confusion = confusion_matrix(truth, predicted, len(labels), sample_weight)
        hits, rows = confusion.diagonal(), confusion.sum(axis=1)
        found["accuracy"] = hits.sum() / rows.sum()
        found["balanced_accuracy"] = np.mean(hits[rows > 0] / rows[rows > 0])
        found["macro_f1"] = float(macro_f1(confusion))
        if proba is not None:
            if classes is None:
                raise ValueError("scores needs classes, in the order of proba.")
            nats = _nats(chance_of_truth(y_true, proba, classes))
            found["log_loss"] = np.average(nats, weights=sample_weight)
    plain = {name: float(value) for name, value in found.items()}
    return plain | {"n_rows": len(y_true)}


def headline_score(
    task: str, y_true, y_pred, weight=None, loss: Loss | None = None
) -> float:
    """Return the one score by which models compare, as ``scores`` measures it."""
    found = scores(task, y_true, y_pred, sample_weight=weight, loss=loss)
    return found[headline(task, loss)]


def output_scores(
    y_true: np.ndarray, y_pred: np.ndarray, loss: Loss | None, sample_weight=None
) -> list[dict[str, float]]:
    """Score each of several outputs of a regression, as ``scores`` scores one.

    ``y_true`` is (n_rows, C), or (n_rows,) where the outputs are quantiles.
    """
    return [
        scores(
            "regression",
            y_true if y_true.ndim == 1 else y_true[:, j],
            predicted,
            sample_weight=sample_weight,
            loss=None if loss is None else loss.of_output(j),
        )
        for j, predicted in enumerate(y_pred.T)
    ]


def quantile(values: np.ndarray, level: float, weight: np.ndarray | None = None):
    """Return the least of the values that a fraction of them, by weight, is up to."""
    return np.quantile(values, level, weights=weight, method="inverted_cdf")


def confusion_matrix(y_true, y_pred, n_classes: int, weight=None) -> np.ndarray:
    """Count rows by true and predicted class code, or add up their weights.

    (n_classes, n_classes), true classes down, predicted classes across: int64, with
    weights float64.
    """
    cells = np.asarray(y_true) * n_classes + np.asarray(y_pred)
    counts = np.bincount(cells, weight, minlength=n_classes**2)
    return counts.reshape(n_classes, n_classes)


def class_scores(confusion: np.ndarray) -> pd.DataFrame:
    """Score each class of a confusion matrix, as ``confusion_matrix`` returns it.

    A row a class: ``precision`` (NaN where it is never predicted), ``recall`` (NaN
    where it has no row), ``F1`` (NaN where neither), and ``rows`` of it, or their
    weight.
    """
    hits, rows, predicted = confusion.diagonal(), confusion.sum(1), confusion.sum(0)
    with np.errstate(invalid="ignore"):
        return pd.DataFrame(
            {
                "precision": hits / predicted,
                "recall": hits / rows,
                "F1": 2 * hits / (rows + predicted),
                "rows": rows,
            }
        )


def macro_f1(confusion: np.ndarray) -> np.ndarray:
    """Mean F1 (...) over the classes that occur in the truth or in the predictions.

    As scikit-learn's ``f1_score(average="macro", zero_division=0)``, of many confusion
    matrices (..., n_classes, n_classes) at once.
    """
    hits = np.diagonal(confusion, axis1=-2, axis2=-1)
    return macro_f1_of_counts(hits, confusion.sum(-2) + confusion.sum(-1))


def macro_f1_of_counts(hits: np.ndarray, occurrences: np.ndarray) -> np.ndarray:
    """Macro F1 (...) from what it needs of a confusion matrix, for very many at once.

    ``hits`` (..., n_classes) are the rows of each class that are predicted as it,
    ``occurrences`` the rows of each class plus rows predicted as it; a class with none
    does not count.
    """
    occurs = occurrences > 0
    f1 = np.divide(2 * hits, occurrences, out=np.zeros(occurs.shape), where=occurs)
    return f1.sum(-1) / np.maximum(occurs.sum(-1), 1)


def macro_f1_error(confusion: np.ndarray, n_rows: int) -> float:
    """Bootstrap standard error of macro F1, from always the same resamples.

    Standard deviation of the score over resamples of ``n_rows`` rows: as many as there
    are, or fewer where weights differ.
    """
    # A row counts only by its cell, so drawing the cells is drawing the rows.
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(n_rows, confusion.ravel() / confusion.sum(), _RESAMPLES)
    return float(np.std(macro_f1(drawn.reshape(-1, *confusion.shape))))


def chance_of_truth(y_true, proba, classes) -> np.ndarray:
    """Probability (n_rows,) that each row's class was given; 0 for one never seen.

    ``proba`` (n_rows, n_classes) has its columns in the order of ``classes``.
    """
    place = {label: k for k, label in enumerate(classes)}
    code = pd.Series(np.asarray(y_true)).map(place).fillna(-1).to_numpy(int)
    chance = np.asarray(proba)[np.arange(len(code)), code]
    return np.where(code < 0, 0.0, chance)


def _nats(chance) -> np.ndarray:
    """Return the negative logarithms of probabilities of the truth, (n_rows,)."""
    return -np.log(np.clip(chance, np.finfo(float).eps, 1))


def _frequency_nats(y_train, y, weight_train=None) -> np.ndarray:
    """Return the log loss of each row by the training rows' class fractions."""
    classes, code = np.unique(y_train, return_inverse=True)
    counts = np.bincount(code, weight_train)
    prior = dict(zip(classes.tolist(), counts / counts.sum()))
    return _nats([prior.get(label, 0.0) for label in y.tolist()])


def standard_error(values: np.ndarray, weight: np.ndarray | None) -> float:
    """Return the standard error of the mean of values (n_rows,); NaN of one."""
    n_rows = len(values)
    if n_rows < 2:
        return float("nan")
    each = np.ones(n_rows) if weight is None else np.asarray(weight, dtype=np.float64)
    away = each * (values - np.average(values, weights=each)) / each.sum()
    return float(np.sqrt((away**2).sum() * n_rows / (n_rows - 1)))


def baseline_loss(task: str, y_train, y, weight_train=None, weight=None) -> float:
    """Loss of the constant prediction that fits the training rows best.

    Cross-entropy of the training rows' class fractions on ``y``, in nats; for
    regression the squared error of their mean, in variances of the training rows. Both
    have at least one row.
    """
    y_train, y = np.asarray(y_train), np.asarray(y)
    if y.ndim == 2:
        pairs = zip(y_train.T, y.T)
        each = [baseline_loss(task, *own, weight_train, weight) for own in pairs]
        return float(np.mean(each))
    if task == "regression":
        unit = power_of_two(y_train)
        y_train, y = y_train / unit, y / unit
        mean = np.average(y_train, weights=weight_train)
        variance = np.average((y_train - mean) ** 2, weights=weight_train)
        loss = np.average((y - mean) ** 2, weights=weight)
        return float(loss / variance) if np.ptp(y_train) else 1.0
    nats = _frequency_nats(y_train, y, weight_train)
    return float(np.average(nats, weights=weight))


def split_scores(
    model: Model, task: str, split: DataSplit
) -> dict[str, dict[str, float]]:
    """Score a model on each part of a data split that has rows.

    By "train", "valid" and "test", scores as in ``scores``. Of a mean rate also
    ``predicted_total`` and ``total``, the amounts of all rows. Of another loss than the
    squared error its ``d2``, see ``Loss.score``; of one with an interval its
    ``coverage``; of several outputs the scores of each by its name, as ``outputs``; and
    of classes the log loss of the training rows' class frequencies, ``BASELINE``, and
    how sure the difference of the two is, ``BASELINE_ERROR``.
    """
    found: dict[str, dict[str, Any]] = {}
    # Medians and other quantiles do not add up to a total.
    has_total = split.is_rate and (model.loss is None or model.loss.has_means)
    _, y_train, weight_train = split.rows("train")
    for name in SPLITS:
        X, y, weight = split.rows(name)
        if len(y) == 0:
            continue
        given: dict[str, Any] = {"sample_weight": weight, "loss": model.loss}
        if task != "regression":
            given |= {"proba": model.predict_proba(X)}
            given |= {"classes": labels(model.classes or ())}
        predicted = model.predict(X)
        own: dict[str, Any] = scores(task, y, predicted, **given)
        if has_total and weight is not None:
            own["predicted_total"] = float(weight @ predicted)
            own["total"] = float(weight @ np.asarray(y))
        if knows_interval(model):
            own["coverage"] = coverage(y, model.predict_interval(X), weight)
        if predicts_several(model):
            each = output_scores(np.asarray(y), predicted, model.loss, weight)
            own["outputs"] = dict(zip(model.outputs, each))
        if task != "regression" and len(y_train):
            nats = _frequency_nats(y_train, y, weight_train)
            chance = chance_of_truth(y, given["proba"], given["classes"])
            own[BASELINE] = float(np.average(nats, weights=weight))
            own[BASELINE_ERROR] = standard_error(_nats(chance) - nats, weight)
        found[name] = own
    return found


def log_loss_words(found: dict[str, float]) -> str:
    """Write a log loss beside that of the class frequencies; "" where there is none.

    Probabilities are called worse where chance seldom makes them so on these rows.
    ``found`` is what ``split_scores`` returns of one part of a data split.
    """
    if "log_loss" not in found or BASELINE not in found:
        return ""
    own, baseline = found["log_loss"], found[BASELINE]
    both = significant(own), significant(baseline)
    words = f"log loss {both[0]}, class frequencies alone {both[1]}"
    if own - baseline > max(SURE * found.get(BASELINE_ERROR, np.inf), SAME_LOSS):
        words += ". Its probabilities are worse than the class frequencies"
    return words


def output_words(found: dict) -> str:
    """Write the score of each of several outputs: "width R² 0.81, height R² 0.7".

    ``found`` is that of ``log_loss_words``; "" where there is one output.
    """
    each = found.get("outputs") or {}
    name = "d2" if "d2" in found else "r2"
    return ", ".join(
        f"{out} {TITLES[name]} {significant(own[name])}" for out, own in each.items()
    )


def total_words(found: dict[str, float], target: str, weight: str = "") -> str:
    """Write the amounts of a rate: "121 claims predicted, 125 observed"; "" without.

    ``found`` is that of ``log_loss_words``, ``target`` what is counted, and ``weight``
    the column that each row's amount is multiplied by.
    """
    if "total" not in found:
        return ""
    predicted, total = (significant(found[own]) for own in ("predicted_total", "total"))
    words = f"{predicted} {target} predicted, {total} observed"
    return f"{words}, weighted by {weight}" if weight else words


def dendrogram_purity(parent, leaf, y) -> float:
    """Score a hierarchy of clusters against labels (n_rows,) that it never saw.

    For two rows of one class, drawn at random, the fraction of that class among all
    rows under the lowest node that holds both: 1 where every class is a subtree by
    itself. It is in [0, 1]; NaN where no class has two rows. ``parent`` and ``leaf``
    are those of ``rows_passing``.

    Source: Heller and Ghahramani, "Bayesian hierarchical clustering", ICML 2005.
    """
    parent = np.asarray(parent)
    classes, code = np.unique(np.asarray(y), return_inverse=True)
    rows = rows_passing(parent, leaf, code, len(classes)).T
    pairs = rows * (rows - 1) / 2
    met = pairs.copy()  # pairs that meet here: not in one child already
    below = np.flatnonzero(parent >= 0)
    np.subtract.at(met, parent[below], pairs[below])
    if met.sum() == 0:
        return float("nan")
    share = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1)
    return float((met * share).sum() / met.sum())


def one_cluster_purity(y) -> float:
    """Return the ``dendrogram_purity`` of labels (n_rows,) all in one cluster."""
    return dendrogram_purity([-1], np.zeros(len(y), dtype=np.int64), y)
