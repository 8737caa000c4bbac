"""What a table's columns hold, alone and with the target."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite

import numpy as np
import pandas as pd

from treelab.data.column_meaning import level_order
from treelab.data.columns import categories, class_labels, column_kind
from treelab.data.leaks import MANY_COLUMNS, TOO_FEW, leaks, sampled_rows, scores_alone
from treelab.data.problem import Problem
from treelab.data.split import some_rows
from treelab.evaluation.routing import BY_CHANCE
from treelab.trees.date_parts import looks_like_dates
from treelab.trees.dates import days_text, moment_text
from treelab.trees.words import (
    apart,
    clock_text,
    counted,
    parse,
    percent,
    quoted,
    shortest,
    significant,
)

# How the values of one column are distributed, and the target among them.


MOST_BINS = 24
MOST_LEVELS = 12  # of a category, with the rest as one
ENOUGH = 0.02  # of the rows, for a bin to be spoken of
MISSING, OTHERS = "missing", "others"


@dataclass(frozen=True, eq=False)
class Distribution:
    """The rows of a table in bins of one column."""

    labels: list[str]  # of the bins; the last may be "missing"
    # (n_bins, n_classes): rows a bin and class, classes the most frequent first; of a
    # regression one column, "rows".
    counts: pd.DataFrame
    target_mean: np.ndarray | None  # float (n_bins,): mean of a regression's target
    of_categories: bool = False  # whether the bins are these, not ranges of numbers
    is_clear: bool = True  # whether the target differs between bins beyond chance

    def telling_bin(self) -> tuple[int, str, float, float]:
        """Return the bin that says most of the target, of those with enough rows.

        A difference counts by the root of the bin's rows: by chance it is the larger
        the fewer they are. Returned are the bin's place; the class that is much more
        frequent there, "" for a regression; and the class's fraction of the rows, or
        the mean target, there and overall.
        """
        counts = self.counts.to_numpy(np.float64)
        rows = counts.sum(axis=1)
        root = np.where(rows >= ENOUGH * rows.sum(), np.sqrt(rows), np.nan)
        if self.target_mean is not None:
            overall = np.nansum(self.target_mean * rows) / rows.sum()
            place = int(np.nanargmax(root * np.abs(self.target_mean - overall)))
            return place, "", float(self.target_mean[place]), float(overall)
        shares = counts / np.maximum(rows, 1)[:, None]
        base = counts.sum(axis=0) / rows.sum()
        more = root[:, None] * (shares - base)
        place, k = divmod(int(np.nanargmax(more)), more.shape[1])
        label = str(self.counts.columns[k])
        return place, label, float(shares[place, k]), float(base[k])

    def sentence(
        self,
        name: str,
        target: str,
        write: Callable[[str], str] = str,
        number: Callable[[float], str] = significant,
    ) -> str:
        """Say in which bin of a column of this name the target differs most.

        What may be chance is said to be no clear difference. ``write`` makes Markdown
        of names and values, ``number`` writes a mean.
        """
        place, label, here, overall = self.telling_bin()
        n_rows = counted(int(self.counts.iloc[place].sum()), "row")
        own = self.labels[place]
        if self.of_categories and own not in (MISSING, OTHERS):
            own = quoted(own)
        words = f"Where {write(name)} is {write(own)}, {n_rows}: "
        if label:
            shares = f"{percent(here)} of them, {percent(overall)}"
            found = f"{write(quoted(label))} in {shares}"
        else:
            found = f"mean {write(target)} {number(here)}, {number(overall)}"
        unclear = "" if self.is_clear else ", no clear difference"
        return f"{words}{found} in all{unclear}."


def distribution(
    column: pd.Series, target: pd.Series, problem: Problem, *, of_times: bool = False
) -> Distribution:
    """Count the rows of a table in bins of one column, by class of the target.

    Numbers fall into at most 24 bins of equal width between their 1st and 99th
    percentile, the tails into the outermost; few numbers have a bin each, and so have
    whole ones close together. Of categories the 11 most frequent have a bin each. Rows
    (n_rows,) without a target are left out. Hours that are ``of_times`` are written so.
    Whether bins differ is asked of a sample of a large table, and for all the problem's
    columns together (Bonferroni): the first that is shown is the one that tells most.
    """
    known = target.notna().to_numpy()
    column, target = column[known], target[known]
    codes, labels = _bins(column, of_times)
    of_categories = column_kind(column) != "number"
    some = some_rows(len(codes), MOST_ROWS)
    level = BY_CHANCE / min(len(problem.columns), MANY_COLUMNS)  # of more none is first
    if problem.task == "regression":
        rows = np.bincount(codes, minlength=len(labels))
        total = np.bincount(codes, target.to_numpy(np.float64), minlength=len(labels))
        mean = np.divide(total, rows, out=np.full(len(rows), np.nan), where=rows > 0)
        values = target.to_numpy(np.float64)
        is_clear = exceeds_chance(codes[some], values[some], level)
        n_rows = pd.DataFrame({"rows": rows})
        return Distribution(labels, n_rows, mean, of_categories, is_clear)
    classes, names = pd.factorize(class_labels(target))
    order = np.argsort(-np.bincount(classes, minlength=len(names)), kind="stable")
    flat = codes * len(names) + classes
    counts = np.bincount(flat, minlength=len(labels) * len(names))
    counts = counts.reshape(len(labels), len(names))[:, order]
    of_classes = pd.DataFrame(counts, columns=names[order])
    is_clear = exceeds_chance(codes[some], classes[some], level)
    return Distribution(labels, of_classes, None, of_categories, is_clear)


def _bins(column: pd.Series, of_times: bool) -> tuple[np.ndarray, list[str]]:
    """Return each row's bin, int64 (n_rows,), and the bins' labels."""
    gaps = column.isna().to_numpy()
    if column_kind(column) == "number":
        codes, labels = _number_bins(column[~gaps], of_times)
    else:
        codes, labels = _level_bins(column[~gaps])
    if not gaps.any():
        return codes, labels
    placed = np.full(len(column), len(labels))
    placed[~gaps] = codes
    return placed, [*labels, MISSING]


def _number_bins(known: pd.Series, of_times: bool) -> tuple[np.ndarray, list[str]]:
    """Return the bins of numbers."""
    values = known.to_numpy(np.float64)
    if not len(values):
        return np.zeros(0, dtype=np.int64), []
    low, high = np.percentile(values, [1, 99], method="nearest")
    if low == high:
        low, high = values.min(), values.max()
    whole = bool((values == np.round(values)).all())
    if whole and high - low < MOST_BINS:
        numbers = (low + np.arange(int(high - low) + 1)).tolist()
        labels = [*map(clock_text, numbers)] if of_times else apart(numbers)
        if values.min() < low:
            labels[0] = f"≤ {labels[0]}"
        if values.max() > high:
            labels[-1] = f"≥ {labels[-1]}"
        return (np.clip(values, low, high) - low).astype(np.int64), labels
    each, are_dates = np.unique(values), looks_like_dates(known)
    if len(each) <= MOST_BINS:  # such as 0, 5, 10, 15, 20 and 25
        return np.searchsorted(each, values), _edge_names(each, are_dates, of_times)
    edges = np.linspace(low, high, MOST_BINS + 1)
    names = _edge_names(edges, are_dates, of_times)
    if not are_dates:  # the bins are what they are called
        edges = np.array([parse(name) for name in names])
    codes = np.clip(np.searchsorted(edges, values) - 1, 0, MOST_BINS - 1)
    labels = [f"{a} to {b}" for a, b in itertools.pairwise(names)]
    labels[0], labels[-1] = f"≤ {names[1]}", f"> {names[-2]}"
    return codes, labels


def _edge_names(edges: np.ndarray, are_dates: bool, of_times: bool) -> list[str]:
    """Write the edges of bins so that no two read alike."""
    writers: list[Callable[[float], str]]
    if are_dates:
        writers = [days_text, moment_text]
    elif of_times:  # in whole minutes, seconds or milliseconds
        writers = [partial(_time_text, parts=n) for n in (60, 3600, 3_600_000)]
    else:
        writers = [partial(shortest, fits=isfinite, digits=n) for n in range(3, 17)]
    for each in writers:
        names = [each(edge) for edge in edges.tolist()]
        if len(set(names)) == len(names):
            break
    return names


def _time_text(hours: float, parts: int) -> str:
    """Write hours as a time, rounded to so many parts of an hour."""
    return clock_text(round(hours * parts) / parts)


def _level_bins(known: pd.Series) -> tuple[np.ndarray, list[str]]:
    """Return the bins of categories: in their own order, else by frequency."""
    texts = known.map(str)
    names = texts.value_counts().index.tolist()
    if len(names) > MOST_LEVELS:
        names = names[: MOST_LEVELS - 1]
    else:
        names = level_order(names) or names
    codes = pd.Index(names).get_indexer(pd.Index(texts))
    if (codes >= 0).all():
        return codes.astype(np.int64), names
    return np.where(codes < 0, len(names), codes).astype(np.int64), [*names, OTHERS]


# What each column predicts alone, from 0 as guessing to 1 as knowing.


WEAK = 0.05  # power below which a column predicts next to nothing


@dataclass(frozen=True, eq=False)
class Alone:
    """What each column predicts alone, the best first."""

    names: list[str]
    # float (k,), in [0, 1]: how far the held-out score of a small tree of the column
    # lies from guessing, 0, to exact predictions, 1.
    power: np.ndarray
    leaks: list[str]  # columns that settle the target by themselves
    # Rows looked at: all, or a sample. 0 if they are too few.
    n_rows: int
    n_rarest: int = 0  # scored rows of the rarest class among them; 0 of a regression
    # Power that the best column exceeds in 5% of tables at most where none tells
    # anything.
    by_chance: float = 0.0

    def sentences(self, problem: Problem, write: Callable[[str], str] = str) -> str:
        """Say how well the best column predicts alone, and how many do at all.

        ``write`` makes Markdown of names.
        """
        best, score = write(self.names[0]), significant(self.power[0])
        score = f"{alone_score(problem)} {score}"
        if self.power[0] < max(WEAK, self.by_chance):
            clearly = "clearly " if self.power[0] >= WEAK else ""
            return (
                f"No column alone {clearly}predicts {write(problem.target)}; the best "
                f"is {best}, {score}. Columns together still may."
            )
        bound, why = str(WEAK), ""
        if self.by_chance > WEAK:
            bound, why = significant(self.by_chance, 2), ", as chance seldom does"
        n_strong = int((self.power >= max(WEAK, self.by_chance)).sum())
        n_columns = counted(len(problem.columns), "column")
        exceed = "exceeds" if n_strong == 1 else "exceed"
        return (
            f"{best}: {score} alone; {n_strong} of {n_columns} {exceed} {bound}{why}."
        )


def alone_score(problem: Problem) -> str:
    """Name the score by which columns alone are measured."""
    return "R²" if problem.task == "regression" else "rescaled balanced accuracy"


def alone(frame: pd.DataFrame, problem: Problem) -> Alone:
    """Measure what each column to predict from predicts alone.

    The scores are those of ``treelab/data/leaks.py``: balanced accuracy, rescaled so
    that guessing is 0, or R2. Below guessing counts as 0.
    """
    columns, target = problem.table(frame), frame[problem.target]
    scores = dict(scores_alone(columns, target, problem.task))
    rows = sampled_rows(target, columns.shape[1])
    n_rows = len(rows)
    if not scores or n_rows < TOO_FEW:
        return Alone([], np.zeros(0), [], 0)
    # Here: a table is shown before its columns are looked through.
    from scipy.stats import norm

    furthest = float(norm.isf(BY_CHANCE / len(scores)))  # standard errors, of so many
    guess, n_rarest = 0.0, 0
    by_chance = furthest**2 / (n_rows - n_rows // 2)  # a squared correlation
    if problem.task != "regression":  # a rare class may not be among the scored rows
        each = target.iloc[rows[n_rows // 2 :]].value_counts()
        each = each[each > 0]
        guess, n_rarest = 1 / len(each), int(each.min())
        # The mean of recalls, each with the variance of guessing among its rows.
        variance = guess**3 * (1 - guess) * float((1 / each).sum())
        by_chance = furthest * np.sqrt(variance) / (1 - guess) if guess < 1 else 1.0
    power = {name: max(0.0, (s - guess) / (1 - guess)) for name, s in scores.items()}
    names = sorted(power, key=lambda name: -power[name])
    return Alone(
        names,
        np.array([power[name] for name in names]),
        [name for name, _ in leaks(columns, target, problem.task)],
        n_rows,
        n_rarest,
        float(by_chance),
    )


# How strongly columns go together, one measure from 0 to 1 for every pair of kinds.


MOST_ROWS = 5000  # of larger tables a sample is looked at
NEARLY_THE_SAME = 0.95
FEW_ROWS = 500  # of which columns that are nearly the same are held against chance
FEWEST_DRAWS = 999  # shuffles of a column, against which a pair is held
MOST_ASSOCIATED_LEVELS = 200  # of a category; the rarer ones are taken together


@dataclass(frozen=True, eq=False)
class Associations:
    """How strongly columns go together."""

    names: list[str]
    # float (k, k), in [0, 1]; NaN where two columns share too few rows.
    strength: np.ndarray
    n_rows: int  # rows looked at: all, or a sample
    # Of the pairs that go together by more than chance the strongest, as ``strongest``
    # returns it; None where there is none.
    clearest: tuple[str, str, float] | None = None
    # Of these pairs the ones of ``NEARLY_THE_SAME`` or more.
    n_alike: int = 0

    def strongest(self, most: int) -> list[tuple[str, str, float]]:
        """Return the pairs that go together most, the strongest first."""
        rows, others = np.triu_indices(len(self.names), 1)
        found = self.strength[rows, others]
        order = [k for k in np.argsort(-found, kind="stable") if not np.isnan(found[k])]
        return [
            (self.names[rows[k]], self.names[others[k]], float(found[k]))
            for k in order[:most]
        ]

    def sentences(self, write: Callable[[str], str] = str) -> str:
        """Say which columns go together most; "" where no two share enough rows.

        A pair that chance may have set together is not called associated. ``write``
        makes Markdown of names.
        """
        pairs = self.strongest(len(self.names) ** 2)
        if not pairs:
            return ""
        first, second, strength = self.clearest or pairs[0]
        both = f"{significant(strength)}, {write(first)} and {write(second)}"
        words = f"Strongest association: {both}."
        if self.clearest is None:
            words = f"No association exceeds chance; the strongest is {both}."
        elif strength < pairs[0][2]:
            words = f"Strongest association beyond chance: {both}."
        if n := self.n_alike:
            words += (
                f" {counted(n, 'pair')} at {NEARLY_THE_SAME} or more: nearly the same "
                "information, so a tree uses either and gives it the importance of "
                "both."
            )
        return words

    def order(self) -> np.ndarray:
        """Return the columns' places so that those that go together are neighbours."""
        if len(self.names) < 3:
            return np.arange(len(self.names))
        # Here: a table is shown before its columns are looked through.
        from scipy.cluster.hierarchy import leaves_list, linkage
        from scipy.spatial.distance import squareform

        apart = 1 - np.nan_to_num(self.strength)
        return leaves_list(linkage(squareform(apart, checks=False), "average"))


def associations(frame: pd.DataFrame) -> Associations:
    """Measure how strongly each two columns go together.

    Two numbers: the size of Spearman's rank correlation. A number and a category: the
    correlation ratio of the number's ranks, the square root of the fraction of their
    variance that the category explains. Two categories: Cramér's V with Bergsma's
    correction (2013, doi:10.1016/j.jkss.2012.10.002), so that chance alone gives 0 on
    average. Rows in which one of the two is missing are left out of the pair. A pair is
    beyond chance for all pairs together (permutation tests, Bonferroni).
    """
    frame = frame.iloc[some_rows(len(frame), MOST_ROWS)]
    columns = [_codes(column) for _, column in frame.items()]
    k = len(columns)
    strength = np.eye(k)
    for i in range(k):
        for j in range(i):
            strength[i, j] = strength[j, i] = _strength(columns[i], columns[j])
    names = [str(name) for name in frame.columns]
    found = Associations(names, strength, len(frame))
    pairs, at = found.strongest(k * k), {name: i for i, name in enumerate(names)}
    clearest, n_alike = None, 0
    for first, second, value in pairs:
        is_alike = value >= NEARLY_THE_SAME
        if clearest is not None and not is_alike:
            break
        a, b = columns[at[first]], columns[at[second]]
        rows = np.flatnonzero(_known(a) & _known(b))
        # Of columns that are alike few rows show it, in a fraction of the time.
        few = [rows[some_rows(len(rows), FEW_ROWS)]] if is_alike else []
        level = BY_CHANCE / len(pairs)
        if any(exceeds_chance(a[some], b[some], level) for some in (*few, rows)):
            clearest = clearest or (first, second, value)
            n_alike += is_alike
    return replace(found, clearest=clearest, n_alike=n_alike)


def _codes(column: pd.Series) -> np.ndarray:
    """Return numbers as float64, categories as int64; missing ones NaN or -1."""
    if column_kind(column) == "number":
        return column.to_numpy(np.float64, na_value=np.nan)
    codes, _ = categories(column)
    counts = np.bincount(codes[codes >= 0])
    if len(counts) <= MOST_ASSOCIATED_LEVELS:
        return codes
    place = np.full(len(counts), MOST_ASSOCIATED_LEVELS - 1)
    frequent = np.argsort(-counts, kind="stable")[: MOST_ASSOCIATED_LEVELS - 1]
    place[frequent] = np.arange(MOST_ASSOCIATED_LEVELS - 1)
    return np.where(codes < 0, -1, place[codes])


def _strength(a: np.ndarray, b: np.ndarray) -> float:
    """Return how strongly two columns go together."""
    known = _known(a) & _known(b)
    a, b = a[known], b[known]
    if len(a) < 3:
        return float("nan")
    if a.dtype.kind == b.dtype.kind == "f":
        ranks = np.stack([_ranks(a), _ranks(b)])
        if (ranks.std(axis=1) == 0).any():
            return 0.0
        return float(abs(np.corrcoef(ranks)[0, 1]))
    if a.dtype.kind == "f":
        return _correlation_ratio(a, b)
    if b.dtype.kind == "f":
        return _correlation_ratio(b, a)
    return _cramers_v(a, b)


def exceeds_chance(a: np.ndarray, b: np.ndarray, level: float) -> bool:
    """Whether two columns go together as they seldom do when one of them is shuffled.

    Seldom: in less than a fraction ``level`` of the shuffles. Columns (n_rows,) are
    float64 numbers, NaN where missing, or int64 codes of categories, -1 where missing.
    """
    known = _known(a) & _known(b)
    a, b = (_standardized(column[known]) for column in (a, b))
    random, n_as_far = np.random.default_rng(0), 0
    n_draws = max(FEWEST_DRAWS, int(2 / level))
    # What is the same but for rounding is as far.
    observed = _dependence(a, b) * (1 - 1e-9)
    for _ in range(n_draws):
        n_as_far += _dependence(a, random.permutation(b)) >= observed
        if (1 + n_as_far) / (1 + n_draws) >= level:
            return False
    return True


def _standardized(column: np.ndarray) -> np.ndarray:
    """Return the ranks of numbers around 0, or codes of categories without a gap."""
    if column.dtype.kind == "f":
        ranks = _ranks(column)
        return ranks - ranks.mean()
    return np.unique(column, return_inverse=True)[1]


def _dependence(a: np.ndarray, b: np.ndarray) -> float:
    """Return what grows with the strength of two columns, of all orders of their rows.

    Of two numbers the covariance of their ranks, of a number and a category the
    variance between categories, of two categories chi-square.
    """
    if a.dtype.kind == b.dtype.kind == "f":
        return abs(float(a @ b))
    if a.dtype.kind == "f":
        a, b = b, a
    rows = np.bincount(a)
    if b.dtype.kind == "f":
        return float((np.bincount(a, b) ** 2 / rows).sum())
    columns = np.bincount(b)
    cell, occurs = np.unique(a * len(columns) + b, return_counts=True)
    of_row, of_column = np.divmod(cell, len(columns))
    return float((occurs**2 / (rows[of_row] * columns[of_column])).sum())


def _ranks(values: np.ndarray) -> np.ndarray:
    """Return ranks from 1, equal values sharing their mean."""
    return pd.Series(values).rank().to_numpy()


def _known(column: np.ndarray) -> np.ndarray:
    """Which cells have a value, bool (n_rows,)."""
    return ~np.isnan(column) if column.dtype.kind == "f" else column >= 0


def _correlation_ratio(number: np.ndarray, category: np.ndarray) -> float:
    """Return the correlation ratio of a number's ranks, corrected for chance."""
    ranks = _ranks(number)
    counts = np.bincount(category)
    means = np.bincount(category, ranks) / np.maximum(counts, 1)
    total = ((ranks - ranks.mean()) ** 2).sum()
    n, k = len(ranks), int((counts > 0).sum())
    if total == 0 or n <= k:
        return 0.0
    within = ((ranks - means[category]) ** 2).sum()
    # Kelley's epsilon squared: chance alone gives 0, as Bergsma's correction does.
    return float(np.sqrt(max(0.0, 1 - within / total * (n - 1) / (n - k))))


def _cramers_v(a: np.ndarray, b: np.ndarray) -> float:
    """Return Cramér's V of two categories, corrected for chance."""
    a, b = np.unique(a, return_inverse=True)[1], np.unique(b, return_inverse=True)[1]
    n, r, c = len(a), int(a.max()) + 1, int(b.max()) + 1
    if min(r, c) < 2:
        return 0.0
    counts = np.bincount(a * c + b, minlength=r * c).reshape(r, c)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / n
    phi2 = float(((counts - expected) ** 2 / expected).sum()) / n
    phi2 = max(0.0, phi2 - (r - 1) * (c - 1) / (n - 1))
    smaller = min(r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)) - 1
    return float(min(1.0, np.sqrt(phi2 / smaller))) if smaller > 0 else 0.0


# The rows of a table: what is missing, what is there twice, what contradicts.


@dataclass(frozen=True)
class RowFacts:
    """What is known of a table's rows; all of them are counted."""

    n_rows: int
    n_complete: int  # without a missing value
    missing_share: float  # of all cells
    n_repeated: int  # rows that repeat an earlier row in every column
    # Rows with a target that are alike in every column to predict from, but not in the
    # target, so that no model predicts all of them; their missing values are alike,
    # too.
    n_contradicting: int


def _as_chosen(frame: pd.DataFrame, problem: Problem) -> pd.DataFrame:
    """Return a table, the columns to predict from of the kinds that a person chose.

    What shows no number is missing in a column that was made numbers.
    """
    chosen = tuple(name for name, _ in problem.kinds if name in problem.columns)
    if not chosen:
        return frame
    return frame.assign(**replace(problem, columns=chosen).table(frame))


def row_facts(frame: pd.DataFrame, problem: Problem) -> RowFacts:
    """Count a table's rows, its missing cells, repeated and contradicting rows."""
    frame = _as_chosen(frame, problem)
    gaps = frame.isna().sum(axis=1)
    hashes = partial(pd.util.hash_pandas_object, index=False)
    cells = frame.apply(hashes)  # once, as those of words are slow
    columns = [name for name in problem.columns if name in cells]
    known = frame[problem.target].notna()
    features = hashes(cells[columns])[known]
    n_targets = cells[problem.target][known].groupby(features).transform("nunique")
    return RowFacts(
        len(frame),
        int((gaps == 0).sum()),
        float(gaps.sum() / max(frame.size, 1)),
        int(hashes(cells).duplicated().sum()),
        int((n_targets > 1).sum()),
    )


CLEARLY_APART = 0.05  # a fraction missing differs so much between classes: worth saying
FEWEST_EXPECTED = 5  # rows in a cell, for a chi-square test
N_DRAWS = 4_999


def missing_by_column(frame: pd.DataFrame, problem: Problem) -> pd.DataFrame:
    """Return the columns with missing values, most of them first.

    ``column``; ``missing``, the fraction of all rows; ``lowest`` and ``highest``, the
    fraction among the rows of the two classes that lie furthest below and above that of
    all, in standard errors, and ``lowest_in`` and ``highest_in``, which they are;
    ``differs``, whether classes lack values by more than chance (chi-square test, exact
    by random draws where gaps are few for so many classes, adjusted for the number of
    columns).
    NaN, "" and False for a regression and for the target itself.
    """
    frame = _as_chosen(frame, problem)
    # Here: a table is shown before its columns are looked through.
    from scipy.stats import false_discovery_control

    classes = None
    if problem.task != "regression":
        classes = class_labels(frame[problem.target].dropna()).map(str)
    found = []
    for name, column in frame.items():
        gaps = column.isna()
        if not gaps.any():
            continue
        row = {"column": str(name), "missing": float(gaps.mean()), "p_value": 1.0}
        row |= {"lowest": np.nan, "highest": np.nan, "lowest_in": "", "highest_in": ""}
        if classes is not None and str(name) != problem.target and len(classes):
            own = gaps[classes.index]
            shares, rows = own.groupby(classes).mean(), classes.value_counts()
            # As of ``telling_bin``: a class of few rows has an odd fraction by chance.
            n_rows = rows[shares.index].to_numpy(float)
            away = (shares.to_numpy(float) - own.mean()) * np.sqrt(n_rows)
            least, most = int(away.argmin()), int(away.argmax())
            row |= {"lowest": shares.iloc[least], "highest": shares.iloc[most]}
            row |= {"lowest_in": shares.index[least], "highest_in": shares.index[most]}
            if shares.min() < shares.max():
                counts = pd.crosstab(classes, own)
                row["p_value"] = _dependence_p(counts.to_numpy())
        found.append(row)
    columns = ["column", "missing", "lowest", "highest", "lowest_in", "highest_in"]
    table = pd.DataFrame(found, columns=[*columns, "p_value"])
    p_value = table.pop("p_value").to_numpy(float)
    adjusted = false_discovery_control(p_value) if len(table) else p_value
    table["differs"] = adjusted < BY_CHANCE
    return table.sort_values(
        "missing", ascending=False, kind="stable", ignore_index=True
    )


def _dependence_p(counts: np.ndarray) -> float:
    """Return the p value of a chi-square test of counts (n_classes, 2).

    Where fewer than ``FEWEST_EXPECTED`` rows are expected in a cell the test finds too
    much; what it finds there is held against gaps that are drawn at random.
    """
    from scipy.stats import chi2_contingency

    found = chi2_contingency(counts)
    p_value = float(found.pvalue)
    if found.expected_freq.min() >= FEWEST_EXPECTED or p_value >= BY_CHANCE:
        return p_value
    rows, total = counts.sum(axis=1), counts.sum(axis=0)
    random = np.random.default_rng(0)
    drawn = random.multivariate_hypergeometric(rows, total[1], N_DRAWS, "marginals")
    # The statistic is this sum, but for what is the same in all draws.
    least = (counts[:, 1] ** 2 / rows).sum() * (1 - 1e-9)
    n_as_far = int(((drawn**2 / rows).sum(axis=1) >= least).sum())
    return (1 + n_as_far) / (1 + N_DRAWS)


def missing_words(gaps: pd.DataFrame) -> str:
    """Say where most values are missing, and where that depends on the target.

    ``gaps`` is what ``missing_by_column`` returns, of at least one column.
    """
    first = gaps.iloc[0]
    words = (
        f"{counted(len(gaps), 'column')} with missing values; most are missing in "
        f"{first['column']}, {percent(first['missing'])} of its rows."
    )
    apart = (gaps["highest"] - gaps["lowest"]).where(gaps["differs"])
    if not (apart >= CLEARLY_APART).any():
        return words
    row = gaps.iloc[int(np.nanargmax(apart))]
    return (
        f"{words} Missingness of {row['column']} depends on the target: "
        f"{percent(row['highest'])} of {row['highest_in']}, "
        f"{percent(row['lowest'])} of {row['lowest_in']}."
    )
