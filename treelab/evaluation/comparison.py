"""Two models or several, held against each other on the same rows."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
import pandas as pd

from treelab.data.columns import column_kind
from treelab.data.problem import Problem
from treelab.data.split import some_rows
from treelab.evaluation.frontier import FrontierLine
from treelab.evaluation.metrics import differ
from treelab.trees.constraints import Constraints, cost_matrix
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.feature import feature_matrix
from treelab.trees.pruning_path import Model
from treelab.trees.text import error_text, term_fractions
from treelab.trees.tree import AXIS, LEAF, Tree, goes_left, read_features
from treelab.trees.words import counted, joined, left_out, percent, significant

# How alike several models predict the same rows.


def agreement(
    task: str, predictions: Sequence[np.ndarray], weight: np.ndarray | None = None
) -> np.ndarray:
    """Compare the predictions, (n_rows,) each, of every two of k models, (k, k).

    Fraction of rows that are predicted alike; in regression Pearson's correlation, NaN
    with a model whose predictions are all the same.
    """
    if task != "regression":
        alike = [
            [np.average(one == other, weights=weight) for other in predictions]
            for one in predictions
        ]
        return np.array(alike, dtype=np.float64)
    values = np.array([np.asarray(own, dtype=float) for own in predictions])
    values[np.ptp(values, axis=1) == 0] = 0.0  # a mean of equal values is rounded
    together = np.atleast_2d(np.cov(values, ddof=0, aweights=weight))
    spread = np.sqrt(together.diagonal())
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.clip(together / np.outer(spread, spread), -1, 1)


def most_and_least_alike(matrix: np.ndarray) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the pair of models that agrees most, and the one that agrees least.

    ValueError if no two models compare.
    """
    pairs = itertools.combinations(range(len(matrix)), 2)
    known = [pair for pair in pairs if not np.isnan(matrix[pair])]
    if not known:
        raise ValueError("Agreement needs two models whose predictions vary.")
    return max(known, key=matrix.__getitem__), min(known, key=matrix.__getitem__)


def agreement_words(matrix: np.ndarray, names: Sequence[str], task: str) -> str:
    """Say which two of several models agree most, and which least.

    ``matrix`` (k, k) is what ``agreement`` returns, not all of it NaN.
    """
    most, least = both = most_and_least_alike(matrix)
    first, other = (" and ".join(names[i] for i in pair) for pair in both)
    values = [percent(float(matrix[pair])) for pair in both]
    if task == "regression":
        values = [f"a correlation of {significant(float(matrix[p]))}" for p in both]
    if most == least:
        return f"{first} agree: {values[0]}."
    return f"{first} are most alike ({values[0]}), {other} least ({values[1]})."


# What errors cost: a threshold for two classes, a cost matrix for more.


@dataclass(frozen=True)
class CostCurve:
    """Mean cost of a row by the threshold from which a class is predicted."""

    # float64 (k,): ascending from 0 to 1; the cost is the same from just above one of
    # them up to the next.
    threshold: np.ndarray
    cost: np.ndarray  # float64 (k,): at each threshold

    def at(self, threshold: float) -> float:
        """Return the cost at any threshold in [0, 1]."""
        return float(self.cost[np.searchsorted(self.threshold, threshold)])

    @property
    def cheapest(self) -> float:
        """Middle of the stretch of thresholds that costs least."""
        place = int(self.cost.argmin())
        low = 0.0 if place == 0 else self.threshold[place - 1]
        return float((low + self.threshold[place]) / 2)


def cost_curve(
    is_class: np.ndarray,
    probability: np.ndarray,
    false_positive: float,
    false_negative: float,
    weight: np.ndarray | None = None,
) -> CostCurve:
    """Return the mean cost of a row at every threshold that makes a difference.

    A row is predicted as the class where its probability is at least the threshold. A
    row of the rest that is predicted as the class costs ``false_positive``, the reverse
    ``false_negative``. Rows are of the class where ``is_class`` (n_rows,) is true.
    """
    weight = np.ones(len(probability)) if weight is None else weight
    threshold, place = np.unique(
        np.concatenate([[0.0, 1.0], probability]), return_inverse=True
    )
    at = place[2:]  # of each row's probability among the thresholds
    of_class, of_rest = (
        np.bincount(at[own], weight[own], len(threshold))
        for own in (is_class, ~is_class)
    )
    missed = np.cumsum(of_class) - of_class  # of lower probability
    false = np.cumsum(of_rest[::-1])[::-1]
    cost = false_positive * false + false_negative * missed
    return CostCurve(threshold, cost / weight.sum())


def calibrated_threshold(false_positive: float, false_negative: float) -> float:
    """Return the cheapest threshold for probabilities that are right; 0.5 for free."""
    total = false_positive + false_negative
    return false_positive / total if total > 0 else 0.5


def cheapest_classes(probabilities: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """Return for each row the class (n_rows,) whose expected cost is least.

    Of equal ones it is the most probable, then the first. Probabilities are (n_rows,
    n_classes), costs (n_classes, n_classes): true classes down, predicted ones across.
    """
    expected = probabilities @ costs
    least = expected.min(axis=1, keepdims=True)
    ties = np.isclose(expected, least, rtol=1e-12, atol=0)
    return np.where(ties, probabilities, -1).argmax(axis=1)


def mean_cost(
    truth: np.ndarray,
    predicted: np.ndarray,
    costs: np.ndarray,
    weight: np.ndarray | None = None,
) -> float:
    """Return the mean cost of a row, of class codes (n_rows,) by a cost matrix."""
    return float(np.average(costs[truth, predicted], weights=weight))


def trained_costs(asked: Constraints, classes: Sequence, labels: Sequence):
    """Return what errors cost where a model was trained by costs; None elsewhere.

    The costs are (n_labels, n_labels), true classes down, predicted classes across. The
    model was trained with what was ``asked``; the labels are those of its classes that
    are meant.
    """
    costs = cost_matrix(asked, tuple(classes))
    if costs is None:
        return None
    places = [list(classes).index(label) for label in labels]
    return costs[np.ix_(places, places)]


@dataclass(frozen=True)
class RowCosts:
    """What a test row costs with each of several models."""

    costs_of: int  # place of the model by whose costs of errors they are
    mean: list[float]  # one a model
    n_left_out: int = 0  # rows of which not all models know the class

    def sentence(self, names: Sequence[str]) -> str:
        """Say what a test row costs with models of these names."""
        each = [significant(cost) for cost in self.mean]
        trained = "it"
        if len(names) > 1:
            each = [f"{cost} with {name}" for cost, name in zip(each, names)]
            trained = names[self.costs_of]
        which = "of, or predicted as, a class that not all of them know"
        more = f" {left_out(self.n_left_out, which)}." if self.n_left_out else ""
        return (
            f"By the costs of errors by which {trained} was trained, a test row costs "
            f"{joined(each)}.{more}"
        )


def row_costs(
    asked: Sequence[Constraints],
    classes: Sequence[Sequence | None],
    y_true,
    predicted: Sequence[np.ndarray],
    weight: np.ndarray | None = None,
) -> RowCosts | None:
    """Measure models by the costs of errors of the first that was trained by any.

    Rows count whose class, and every prediction of them, all models know. None where
    none was trained by costs. Of each of k models: what was ``asked`` of it, its
    classes (None of a regression), and what it ``predicted``, (n_rows,). None, too,
    where no row counts.
    """
    trained = next((k for k, own in enumerate(asked) if own.class_costs), None)
    if trained is None:
        return None
    of_all = [set(own or ()) for own in classes]
    own_classes = classes[trained] or ()
    labels = [label for label in own_classes if all(label in own for own in of_all)]
    costs = trained_costs(asked[trained], own_classes, labels)
    codes = np.array(list(map(pd.Index(labels).get_indexer, (y_true, *predicted))))
    known = (codes >= 0).all(axis=0)
    if not known.any():
        return None
    truth, *chosen = codes[:, known]
    weight = None if weight is None else weight[known]
    mean = [mean_cost(truth, own, costs, weight) for own in chosen]
    return RowCosts(trained, mean, int((~known).sum()))


def cost_saved(
    asked: Constraints,
    classes: Sequence,
    y_true,
    predicted: np.ndarray,
    weight: np.ndarray | None = None,
) -> float:
    """Return the fraction of the cost of one prediction for all that a model saves.

    That one is the cheapest for these rows; parameters as of ``row_costs``. ValueError
    if it costs nothing, as where all rows are of one class.
    """
    alone = [np.full(len(predicted), label, dtype=object) for label in classes]
    k = 1 + len(alone)
    found = row_costs([asked] * k, [classes] * k, y_true, [predicted, *alone], weight)
    if found is None:
        raise ValueError("The model knows the class of no row, so none has a cost.")
    own, *constant = found.mean
    if not min(constant):
        raise ValueError(
            "One prediction for all of these rows costs nothing, so no model saves "
            "anything. Score on rows of several classes."
        )
    return 1 - own / min(constant)


# Curves of one class against the rest: ROC, precision-recall, calibration.


N_BINS = 10  # of probabilities, for the calibration


@dataclass(frozen=True)
class ClassCurves:
    """How well probabilities of one class tell its rows from the rest."""

    # ``x`` (false positive rate), ``y`` (true positive rate) and ``threshold``.
    roc: pd.DataFrame
    # ``x`` (recall), ``y`` (precision) and ``threshold``, NaN at the last point.
    precision_recall: pd.DataFrame
    calibration: pd.DataFrame  # as ``calibration`` returns it
    # Area under the ROC curve, mean precision over recall, mean squared error of the
    # probabilities.
    roc_area: float
    average_precision: float
    brier: float


def class_curves(
    is_class: np.ndarray, probability: np.ndarray, weight: np.ndarray | None = None
) -> ClassCurves:
    """Measure the probabilities (n_rows,) of one class.

    Rows are of it where ``is_class`` (n_rows,) is true; ValueError if all are, or none.
    """
    if is_class.all() or not is_class.any():
        raise ValueError("Curves need rows of the class and rows of another one.")
    from sklearn import metrics  # takes a second, and most of a page needs none

    own = {"sample_weight": weight}
    false_rate, true_rate, threshold = metrics.roc_curve(is_class, probability, **own)
    precision, recall, cut = metrics.precision_recall_curve(
        is_class, probability, drop_intermediate=True, **own
    )
    return ClassCurves(
        pd.DataFrame({"x": false_rate, "y": true_rate, "threshold": threshold}),
        pd.DataFrame(
            {"x": recall, "y": precision, "threshold": np.append(cut, np.nan)}
        ),
        calibration(is_class, probability, weight),
        float(metrics.roc_auc_score(is_class, probability, **own)),
        float(metrics.average_precision_score(is_class, probability, **own)),
        float(metrics.brier_score_loss(is_class, np.clip(probability, 0, 1), **own)),
    )


def calibration(
    is_class: np.ndarray, probability: np.ndarray, weight: np.ndarray | None = None
) -> pd.DataFrame:
    """Compare probabilities with fractions, in ``N_BINS`` bins of equal width.

    A row a bin in which rows count: ``predicted`` (mean probability), ``observed``
    (fraction of the class), both by weight, and ``rows``. Parameters as of
    ``class_curves``.
    """
    edges = np.linspace(0, 1, N_BINS + 1)
    place = np.searchsorted(edges[1:-1], probability)
    each = np.ones(len(place)) if weight is None else weight
    sums = [each, each * probability, each * is_class]
    mass, predicted, observed = (np.bincount(place, own, N_BINS) for own in sums)
    rows, some = np.bincount(place, minlength=N_BINS), mass > 0
    means = {"predicted": predicted[some] / mass[some]}
    means["observed"] = observed[some] / mass[some]
    return pd.DataFrame(means | {"rows": rows[some]})


# Whether two learners differ by more than chance over several data splits.


FEWEST_SEEDS = 2  # data splits for a test
LEVEL = 0.95  # of the confidence interval
CHANCE = 0.05  # a p value below it is called more than chance


@dataclass(frozen=True)
class SeedComparison:
    """The second learner's score minus the first's, over data splits."""

    difference: np.ndarray  # float64 (n_splits,)
    mean: float
    # Ends of the confidence interval of the mean, by the corrected variance.
    low: float
    high: float
    # Two-sided p values of the corrected resampled t-test, and of Wilcoxon's
    # signed-rank test.
    t_p: float
    wilcoxon_p: float

    @property
    def clear(self) -> bool:
        """Whether they differ by more than chance."""
        return self.t_p < CHANCE

    @property
    def least_wilcoxon_p(self) -> float:
        """The smallest p value that so many data splits without a tie can give."""
        return 2 / 2 ** np.count_nonzero(self.difference)

    def sentences(self, names: tuple[str, str], metric: str, splits: str) -> str:
        """Say which learner is better over data splits, and how sure that is.

        ``names`` are those of the first and the second learner; ``metric`` and
        ``splits`` are what score and data splits are called: "macro F1", "5 data
        splits".
        """
        if not self.difference.any():
            return f"Both score the same on all {splits}."
        low, high, mean = self.low, self.high, self.mean
        other, better = names
        if mean < 0:
            better, other, low, high, mean = other, better, -high, -low, -mean
        how = "More than chance" if self.clear else "No clear difference"
        text = (
            f"{how} over {splits}: {better} gains {significant(mean)} {metric} over "
            f"{other} on average, {LEVEL:.0%} interval "
            f"{significant(low)} to {significant(high)} (corrected resampled t-test, "
            f"p = {significant(self.t_p, 2)}). Wilcoxon's signed-rank test: p = "
            f"{significant(self.wilcoxon_p, 2)}"
        )
        if self.least_wilcoxon_p > CHANCE:
            least = significant(self.least_wilcoxon_p, 2)
            text += f", which so few splits cannot bring below {least}"
        return f"{text}."


def compare_over_seeds(first, second, n_train: int, n_test: int) -> SeedComparison:
    """Test whether two learners' scores differ over data splits of one table.

    The splits share rows, so their scores vary less than those of new tables: the
    variance of the mean is ``(1 / n_splits + n_test / n_train) * s**2`` (Nadeau and
    Bengio, "Inference for the generalization error", Machine Learning 52, 2003). Folds,
    repeated or not, share training rows and are tested alike (Bouckaert and Frank,
    "Evaluating the replicability of significance tests", PAKDD 2004).

    Scores (n_splits,) are those on the ``n_test`` test rows of each data split, of
    models fitted to ``n_train`` rows. ValueError if there are fewer than two data
    splits, or numbers of scores differ.
    """
    first, second = np.asarray(first, float), np.asarray(second, float)
    if first.shape != second.shape or len(first) < FEWEST_SEEDS:
        raise ValueError(
            f"Give both scores of {FEWEST_SEEDS} data splits or more, got "
            f"{len(first)} and {len(second)}."
        )
    from scipy import stats  # takes a second, and most of a page needs none

    is_same = np.isclose(first, second, rtol=1e-9, atol=0)  # but for rounding
    difference = np.where(is_same, 0.0, second - first)
    n = len(difference)
    mean = float(difference.mean())
    error = float(np.sqrt((1 / n + n_test / n_train) * difference.var(ddof=1)))
    reach = float(stats.t.ppf((1 + LEVEL) / 2, n - 1)) * error
    wilcoxon_p = float(stats.wilcoxon(difference).pvalue) if difference.any() else 1.0
    t_p = (
        wilcoxon_p  # of splits that all differ alike, as few rows may, but for rounding
    )
    if error > 1e-9 * abs(mean):
        t_p = 2 * float(stats.t.sf(abs(mean) / error, n - 1))
    return SeedComparison(difference, mean, mean - reach, mean + reach, t_p, wilcoxon_p)


# Score by size over several data splits: the mean, and how sure it is.


FEWEST_SPLITS = 2  # data splits for a standard error


def split_band(lines: Sequence[FrontierLine], column: str) -> pd.DataFrame:
    """Average the scores of one learner's trees by size over data splits.

    At each number of leaves a split counts with its largest tree of at most so many. A
    row wherever a mean may change, ascending: ``leaves``, ``mean`` and
    ``standard_error`` of the mean. It begins where each split has a tree. No row with
    fewer than two splits that have scores.

    The lines are of the same learner and settings, one a data split; the column is
    "held_out" or "test".
    """
    tables = [line.table[line.table[column].notna()] for line in lines]
    tables = [table for table in tables if len(table)]
    if len(tables) < FEWEST_SPLITS:
        return pd.DataFrame(columns=["leaves", "mean", "standard_error"], dtype=float)
    sizes = [table["leaves"].to_numpy() for table in tables]
    leaves = np.unique(np.concatenate(sizes))
    leaves = leaves[leaves >= max(own[0] for own in sizes)]
    at = [np.searchsorted(own, leaves, side="right") - 1 for own in sizes]
    scores = np.stack([t[column].to_numpy()[own] for t, own in zip(tables, at)])
    error = scores.std(0, ddof=1) / np.sqrt(len(scores))
    return pd.DataFrame(
        {"leaves": leaves, "mean": scores.mean(0), "standard_error": error}
    )


def mean_over_splits(scores: Sequence[float]) -> tuple[float, float]:
    """Return the mean of one score a data split, and its standard error.

    The error is NaN of fewer than two.
    """
    found = np.asarray(scores, float)
    error = np.nan
    if len(found) >= FEWEST_SPLITS:
        error = float(found.std(ddof=1) / np.sqrt(len(found)))
    return float(found.mean()), error


# Two columns as a plane: what models predict on it, and where trees split it.


_MOST_CELLS = 2**22  # of a table that is predicted at once
Points = list[tuple[float, float]]


@dataclass(frozen=True)
class SplitLine:
    """A split as a line in the plane of two features."""

    node: int
    level: int  # of the node, from 0 at the node where the plane begins
    # Of its ends.
    x: tuple[float, float]
    y: tuple[float, float]


def split_lines(
    tree: Tree,
    features: tuple[int, int],
    held: np.ndarray,
    box: tuple[float, float, float, float],
    *,
    node: int = 0,
) -> list[SplitLine]:
    """Return the splits that cut a plane, each as long as rows of the plane reach it.

    The plane is that of two features, along x and y, in a box: lowest and highest x,
    then y. All others have the values ``held`` (n_features,), NaN where missing. Every
    row of the plane is taken to pass ``node``, where it begins.
    """
    x0, x1, y0, y1 = box
    lines = []
    waiting = [(node, 0, [(x0, y0), (x1, y0), (x1, y1), (x0, y1)])]
    while waiting:
        at, level, corners = waiting.pop()
        if tree.feature[at] == LEAF:
            continue
        a, b, c = _half_plane(tree, at, features, held)
        inside = np.array([a * x + b * y for x, y in corners]) <= c
        left, right = int(tree.left[at]), int(tree.right[at])
        if inside.all() or not inside.any():
            waiting.append((left if inside.all() else right, level + 1, corners))
            continue
        yes, no, cut = _cut(corners, a, b, c)
        (ax, ay), (bx, by) = cut[0], cut[-1]
        lines.append(SplitLine(at, level, (ax, bx), (ay, by)))
        waiting += [(left, level + 1, yes), (right, level + 1, no)]
    return lines


def lines_between(
    tree: Tree,
    columns: tuple[str, str],
    row: pd.DataFrame,
    box: tuple[float, float, float, float],
) -> list[SplitLine]:
    """Return a tree's splits in the plane of two columns, the others as in a row.

    The box is that of ``split_lines``. There are none where the tree does not know both
    as numbers.
    """
    index = {f.column: j for j, f in enumerate(tree.features) if f.kind == "number"}
    if not set(columns) <= set(index):
        return []
    held = feature_matrix(tree.features, row)[0]
    return split_lines(tree, (index[columns[0]], index[columns[1]]), held, box)


def plane_points(
    X: pd.DataFrame, y, columns: tuple[str, str], place: int | None, most: int
) -> pd.DataFrame:
    """Return rows in the plane of two columns, or a sample; the followed one is named.

    ``x``, ``y``, ``target`` and ``label``, of at most so many rows that have both
    values. The test row that is followed, at ``place`` from 0, is the last.
    """
    points = pd.DataFrame(
        {"x": X[columns[0]], "y": X[columns[1]], "target": y, "label": ""}
    )
    followed = points.iloc[[] if place is None else [place]]
    points = points.drop(followed.index).dropna()
    room = most - len(followed)
    points = points.iloc[some_rows(len(points), room)]
    if place is not None:
        followed = followed.assign(label=f"test row {place + 1:,}").dropna()
    return pd.concat([points, followed])


def _half_plane(tree: Tree, node: int, features: tuple[int, int], held: np.ndarray):
    """Return a, b and c: the split holds where ``a * x + b * y <= c``."""
    threshold = float(tree.threshold[node])
    tested = int(tree.feature[node])
    if tested >= AXIS:
        if tested in features:
            is_x = tested == features[0]
            return float(is_x), float(not is_x), threshold
        value = held[tested]
        left = bool(tree.missing_left[node]) if np.isnan(value) else value <= threshold
        return 0.0, 0.0, 0.0 if left else -1.0
    assert tree.weights is not None  # as of every tree with an oblique split
    weights = tree.weights[node]
    fill = np.array([feature.fill for feature in tree.features])
    rest = np.where(weights != 0, weights * np.where(np.isnan(held), fill, held), 0.0)
    rest[list(features)] = 0
    return weights[features[0]], weights[features[1]], threshold - float(rest.sum())


def _cut(corners: Points, a: float, b: float, c: float):
    """Cut a convex polygon by a line; return both parts, and the ends of the cut."""
    yes: Points = []
    no: Points = []
    cut: Points = []
    for (x, y), (u, v) in zip(corners, corners[1:] + corners[:1]):
        here, there = a * x + b * y - c, a * u + b * v - c
        (yes if here <= 0 else no).append((x, y))
        if (here <= 0) != (there <= 0):
            share = here / (here - there)
            point = (x + share * (u - x), y + share * (v - y))
            for part in (yes, no, cut):
                part.append(point)
    return yes, no, cut


def surface(
    model, row: pd.DataFrame, columns: tuple[str, str], x: np.ndarray, y: np.ndarray
) -> np.ndarray:
    """Predict a grid (n_y, n_x) of two columns, all others as in one row.

    The row has the columns along x (n_x,) and y (n_y,), too.
    """
    read = set(model.columns) | set(columns)
    row = row[[name for name in row if name in read]]
    at_once = max(1, _MOST_CELLS // (len(x) * row.shape[1]))  # rows of the grid
    parts = []
    for start in range(0, len(y), at_once):
        some = y[start : start + at_once]
        grid = row.iloc[np.zeros(len(x) * len(some), dtype=int)].reset_index(drop=True)
        grid[columns[0]] = np.tile(x, len(some))
        grid[columns[1]] = np.repeat(some, len(x))
        parts.append(model.predict(grid).reshape(len(some), len(x)))
    return np.concatenate(parts)


def typical_row(X: pd.DataFrame) -> pd.DataFrame:
    """Return one row: medians of numbers, the most frequent of categories."""
    values = {}
    for name in X:
        known = X[name].dropna()
        if known.empty:
            typical = np.nan
        elif column_kind(X[name]) == "number":
            typical = float(known.astype(float).median())
        else:
            typical = known.mode().iloc[0]
        values[name] = [typical]
    row = pd.DataFrame(values)
    row.attrs = X.attrs  # the note on how its cells were read
    return row


def column_use(model: Tree | WeightedTrees) -> dict[str, float]:
    """Return the fraction of all tests of training rows that falls to each column.

    An oblique split counts for its columns by ``term_fractions``.
    """
    use = np.zeros(len(model.features))
    if isinstance(model, WeightedTrees):
        n_splits = model.feature.shape[1]
        tests = model.divides.astype(float)  # below a leaf rows are sent one way
        if model.mass is not None:
            tests *= model.mass[:, :n_splits]
        np.add.at(use, model.feature.ravel(), tests.ravel())
    else:
        tests = np.maximum(model.mass, 0.0)
        axis = model.feature >= AXIS
        np.add.at(use, model.feature[axis], tests[axis])
        if model.weights is not None:
            use += tests @ term_fractions(model.features, model.weights)
    by_column: dict[str, float] = {}
    for feature, amount in zip(model.features, use / (use.sum() or 1.0)):
        by_column[feature.column] = by_column.get(feature.column, 0.0) + float(amount)
    return by_column


def most_used(
    uses: Sequence[Mapping[str, float]], columns: Sequence[str]
) -> tuple[str, ...]:
    """Return columns, first those that all models use most, then those that one does.

    ``uses`` are what ``column_use`` returns of each model; the columns are to choose
    from.
    """

    def rank(column: str) -> tuple[float, float]:
        own = [use.get(column, 0.0) for use in uses]
        return -min(own), -sum(own)

    return tuple(sorted(columns, key=rank))


# On which rows two models differ, and which of them is right or nearer there.


@dataclass(frozen=True)
class Disagreement:
    """Rows for which two models predict differently."""

    # One row a row that differs: ``position`` (from 0), ``truth``, ``first`` and
    # ``second`` (the predictions), and ``better`` (0 or 1 for the model that is right,
    # or nearer; -1 where they are equally good).
    rows: pd.DataFrame
    n_rows: int  # rows that both predicted
    # Mean absolute difference of the predictions in the target's unit, by weight; None
    # for classes.
    mean_distance: float | None = None

    def n_better(self, which: int) -> int:
        """Count rows on which a model, 0 or 1, is better; -1: on which neither is."""
        return int((self.rows["better"] == which).sum())

    def sentences(self, names: tuple[str, str], model: Model) -> str:
        """Write how often two models of these names differ, and which is better there.

        One of them says how its target is written.
        """
        first, second = names
        n_rows = counted(self.n_rows, "test row")
        n_first, n_second, n_neither = map(self.n_better, (0, 1, -1))
        if self.mean_distance is None:
            neither = f", neither on {n_neither:,}" if n_neither else ""
            return (
                f"They differ on {len(self.rows):,} of {n_rows}: {first} is correct on "
                f"{n_first:,}, {second} on {n_second:,}{neither}."
            )
        distance = error_text(model, self.mean_distance)
        return (
            f"{second} is closer to the target on {n_second:,} of {n_rows}, {first} on "
            f"{n_first:,}. The predictions differ by {distance} on average; the "
            "largest differences come first."
        )


def disagreement(task: str, y_true, first, second, weight=None) -> Disagreement:
    """Find the rows on which two models differ, by the truth and both predictions.

    Classes in the order of the rows; numbers with the largest difference first.
    """
    truth, first, second = map(np.asarray, (y_true, first, second))
    mean_distance = None
    if task == "regression":
        errors = [np.abs(each.astype(float) - truth) for each in (first, second)]
        distance = np.abs(first.astype(float) - second)
        mean_distance = float(np.average(distance, weights=weight))
        position = np.argsort(-distance, kind="stable")
        position = position[differ(task, first, second)[position]]
    else:
        errors = [(each != truth).astype(float) for each in (first, second)]
        position = np.flatnonzero(differ(task, first, second))
    # 0.9 and 1.1 are as far from 1, whatever their last digits say.
    equal = ~differ(task, *errors)
    better = np.select([equal, errors[0] < errors[1]], [-1, 0], 1)
    rows = pd.DataFrame(
        {
            "position": position,
            "truth": truth[position],
            "first": first[position],
            "second": second[position],
            "better": better[position],
        }
    )
    return Disagreement(rows, len(truth), mean_distance)


def misclassified(y_true, y_pred) -> np.ndarray:
    """Return the positions, from 0, of the rows whose class is predicted wrongly."""
    return np.flatnonzero(np.asarray(y_pred) != np.asarray(y_true))


# Which splits two trees have in common.


SAME_SPLIT = 0.98  # of the rows: what two splits of one column send alike


def own_splits(tree: Tree, other: Tree, X, X_other=None) -> np.ndarray:
    """Find the splits of a tree that another tree does not have, wherever in it.

    Nodes of ``tree``. A split is one of the other tree's where both test the same
    column, or a weighted sum, and send 98% of the rows the same way; yes and no may be
    exchanged. All rows count, whatever node they reach; ``X_other`` are the same ones
    as the other tree reads them, where its columns are others.
    """
    mine, mine_left = _sides(tree, X)
    theirs, theirs_left = _sides(other, X if X_other is None else X_other)
    # Rows sent left by both, and right by both, as products of matrices.
    both = mine_left @ theirs_left.T + (1 - mine_left) @ (1 - theirs_left).T
    agree = both / max(mine_left.shape[1], 1)
    alike = np.maximum(agree, 1 - agree) >= SAME_SPLIT
    tested = (
        [own.features[j].column if j >= 0 else "" for j in own.feature[nodes].tolist()]
        for own, nodes in ((tree, mine), (other, theirs))
    )
    alike &= np.equal.outer(*(np.array(names, dtype=object) for names in tested))
    return mine[~alike.any(axis=1)]


def _sides(tree: Tree, X) -> tuple[np.ndarray, np.ndarray]:
    """Return a tree's splits (S,), and 1 where each sends a row left (S, n_rows)."""
    splits = np.flatnonzero(~tree.is_leaf)
    matrix = read_features(tree, X)
    rows = np.tile(np.arange(len(matrix)), len(splits))
    left = goes_left(tree, matrix, np.repeat(splits, len(matrix)), rows)
    return splits, left.reshape(len(splits), len(matrix)).astype(np.float32)


# Whether two scores may be compared: they must be of the same rows and targets.


def have_same_test_rows(one: Problem, other: Problem) -> bool:
    """Whether two problems test on the same rows of the same target.

    Clusters that a run found itself are no truth to test by.
    """
    # What decides on which rows, how weighted, and against which target, is tested.
    rows = ("table_id", "seed", "valid_share", "test_share", "split_by", "split_column")
    decides = attrgetter(*rows, "n_folds", "weight", "exposure", "targets", "task")
    return not one.origin and decides(one) == decides(other)
