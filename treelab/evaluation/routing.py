"""Where rows go in a tree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from treelab.data.columns import numbers
from treelab.data.problem import Problem
from treelab.trees.cells import note_forms
from treelab.trees.feature import as_table, known_forms
from treelab.trees.pruning_path import Model
from treelab.trees.text import prediction_label, split_text, target_number, target_unit
from treelab.trees.tree import Tree
from treelab.trees.words import (
    counted,
    listed,
    percent,
    range_text,
    significant,
    with_unit,
)

# How many rows of each group pass each node of a tree, or of any hierarchy.


def rows_passing(parent, leaf, group, n_groups: int) -> np.ndarray:
    """Count the rows of each group that pass each node, int64 (n_groups, n_nodes).

    ``parent`` (n_nodes,) is the node above each node, -1 at the root, which is node 0,
    as ``Tree.parent`` is; ``leaf`` (n_rows,) the node at which each row ends, as
    ``Tree.apply`` returns it; ``group`` (n_rows,) the group of each row, such as its
    class, from 0, and -1 for rows that are not counted.
    """
    parent, node, group = map(np.asarray, (parent, leaf, group))
    n_nodes = len(parent)
    counted = group >= 0
    flat = group[counted] * n_nodes + node[counted]
    rows = np.bincount(flat, minlength=n_groups * n_nodes).reshape(n_groups, n_nodes)
    passing = np.zeros_like(rows)
    at = np.arange(n_nodes)  # the rows that end at each node climb to the root
    while len(below := np.flatnonzero(at >= 0)):
        np.add.at(passing.T, at[below], rows.T[below])
        at[below] = parent[at[below]]
    return passing


# Bands of a number target, that stand where classes would.


BANDS = ("low", "middle", "high")


def target_bands(y_train, y) -> tuple[np.ndarray, tuple[float, float]]:
    """Sort values of a number target into low, middle and high, and return the borders.

    The borders are the thirds of the training values. A value on one belongs to the
    lower of the ``BANDS``.
    """
    borders = np.quantile(np.asarray(y_train, dtype=float), [1 / 3, 2 / 3])
    band = np.array(BANDS)[np.searchsorted(borders, np.asarray(y, dtype=float))]
    return band, (float(borders[0]), float(borders[1]))


# The groups of rows that are routed: classes, or bands.


ALL_ROWS = "all rows"  # of a table that has no target
OTHER_ROWS = "no known class"


def row_groups(
    y, *, classes: Sequence | None, y_train, model: Model
) -> dict[str, np.ndarray]:
    """Name the groups of rows, each with a mask (n_rows,).

    Labels are grouped by class, in this order. Values of a number target, written
    as the model's, have no classes: they are low, middle and high, by the thirds of
    the training values, without middle ones where both borders are one value.
    """
    target = np.asarray(y)
    if classes is not None:
        return {str(label): target == label for label in classes}
    band, (low, high) = target_bands(y_train, target)
    first, last = (target_number(model, own) for own in (low, high))
    unit = target_unit(model)
    ranges = (
        f"up to {with_unit(first, unit)}",
        range_text(first, " to ", last, unit),
        f"above {with_unit(last, unit)}",
    )
    return {
        f"{name} ({text})": band == name
        for name, text in zip(BANDS, ranges)
        if name != "middle" or low < high  # of counts, both thirds may end at 0
    }


def table_groups(
    problem: Problem, frame: pd.DataFrame, *, classes: Sequence | None, **values
) -> dict[str, np.ndarray]:
    """Name the groups of the rows of a table that may lack the target.

    Classes are known by their text, since the table alone may show other types; the
    other parameters are those of ``row_groups``.
    """
    try:
        y = problem.labels(frame)
    except ValueError:  # no target, or text where the target is a number
        return {ALL_ROWS: np.ones(len(frame), dtype=bool)}
    if classes is not None:
        y, classes = y.map(str), [str(label) for label in classes]
    known = frame.index.isin(y.index)
    groups = {}
    for name, mask in row_groups(y, classes=classes, **values).items():
        groups[name] = known.copy()
        groups[name][known] = mask
    rest = ~np.any(list(groups.values()), axis=0)
    return groups | ({OTHER_ROWS: rest} if rest.any() else {})


# A table that a model has never seen, made ready for its splits.


def rows_for_model(model: Model, frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the columns that a model reads, each of the kind that it reads.

    Messages call the table by its name. ValueError, which names the column and, for a
    value, its row, if a column is absent, holds text where the model compares numbers,
    or holds a number that is too large.
    """
    features = {feature.column: feature for feature in model.features}
    given = [str(column) for column in frame.columns]  # no parts of dates yet
    frame = as_table(list(features.values()), frame)
    absent = [column for column in model.columns if column not in frame]
    if absent:
        verb = "is" if len(absent) == 1 else "are"
        raise ValueError(
            f"{name} cannot be predicted. Of the {len(model.columns)} columns that the "
            f"model reads, {listed(absent)} {verb} absent. The table has "
            f"{listed(given)}."
        )
    found = pd.DataFrame(index=frame.index)
    note_forms(found, known_forms(model))
    for column in model.columns:
        try:
            found[column] = features[column].read(frame[column])
            if features[column].kind == "number":
                numbers(found[column])
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
    return found


# Routing: the fraction of some rows, say of one class, that passes each node.


MOST_LISTED = 3  # categories, or terms of a weighted sum, in a condition


def routing_table(tree: Tree, rows: np.ndarray) -> pd.DataFrame:
    """Describe the n nodes with the fraction of some rows that passes each.

    Source: the class routing distributions of Zantedeschi, Kusner and Niculae,
    "Learning Binary Decision Trees by Argmin Differentiation", arXiv:2010.04627.

    ``rows`` (n,) that pass each node, perhaps none, are as ``Tree.node_counts`` or
    ``rows_passing`` count them. A row a node: ``level``; ``rows`` that pass;
    ``fraction``, of all; ``level_fraction``, of those that reach the node's level (a
    row that ended in a leaf above counts no more), zero where none does; ``condition``,
    with at most three categories or terms of a weighted sum, empty at leaves;
    ``prediction``, empty at splits.
    """
    at_level = np.bincount(tree.level, weights=rows)[tree.level]
    words = [
        ("", prediction_label(tree, node))
        if leaf
        else (split_text(tree, node, most=MOST_LISTED), "")
        for node, leaf in enumerate(tree.is_leaf)
    ]
    table = pd.DataFrame(words, columns=["condition", "prediction"])
    table.insert(0, "level", tree.level)
    table.insert(1, "rows", rows)
    table.insert(2, "fraction", rows / max(rows[0], 1))
    table.insert(3, "level_fraction", rows / np.where(at_level > 0, at_level, 1))
    return table.rename_axis("node")


def split_name(tree: Tree, node: int) -> str:
    """Name a split by its condition, in quotes."""
    words = f"“{split_text(tree, node, most=MOST_LISTED)}”"
    return words if node else f"the root, {words}"


def busiest_leaf(tree: Tree, table: pd.DataFrame) -> int:
    """Return the leaf where most of the rows end; the first among equals."""
    leaves = np.flatnonzero(tree.is_leaf)
    return int(leaves[np.argmax(table["rows"].to_numpy()[leaves])])


@dataclass(frozen=True)
class RoutedRows:
    """Rows at the nodes of a tree, by group."""

    tree: Tree
    names: tuple[str, ...]  # of the groups: classes, or bands of a number target
    rows: np.ndarray  # of each group that pass each node, int (n_groups, n_nodes)
    leaf: np.ndarray  # where each row ends, int (n_rows,)
    group: np.ndarray  # place of its group, int (n_rows,); -1 where it is in none
    rows_name: str = "row"  # of one of them, as "test row"
    key: tuple = ()  # what caches know tree and rows by
    is_fitted: bool = False  # whether the tree was fitted to these rows
    is_stored: bool = True  # whether they are of the run's own table, not of a file
    months: Mapping[str, np.ndarray] = field(default_factory=dict)  # by date column

    @property
    def passing(self) -> np.ndarray:
        """Rows that pass each node, of all groups and of none, int (n_nodes,)."""
        every = np.zeros(len(self.leaf), dtype=int)
        return rows_passing(self.tree.parent, self.leaf, every, 1)[0]

    def of(self, name: str) -> np.ndarray:
        """Return the rows of one group that pass each node, int (n_nodes,)."""
        return self.rows[self.names.index(name)]

    def table(self, name: str) -> pd.DataFrame:
        """Return ``routing_table`` of one group."""
        return routing_table(self.tree, self.of(name))


def route_rows(
    tree: Tree, X: pd.DataFrame, groups: Mapping[str, np.ndarray]
) -> RoutedRows:
    """Send rows through a tree and count them by group, each a mask (n_rows,)."""
    leaf, code = tree.apply(X), np.full(len(X), -1)
    for place, mask in enumerate(groups.values()):
        code[mask] = place
    rows = rows_passing(tree.parent, leaf, code, len(groups))
    return RoutedRows(tree, tuple(groups), rows, leaf, code)


# A tree's leaves as clusters: how pure they are, and what they tell of the class.


@dataclass(frozen=True)
class LeafPurity:
    """How pure the leaves of a tree are on some rows."""

    # Leaves that rows reach, left to right: ``rows``; ``label``, the most frequent
    # class; ``purity``, its fraction of these rows.
    leaves: pd.DataFrame
    rows: pd.DataFrame  # (n_leaves, n_classes): rows of each class in them
    purity: float  # fraction of all rows that are of their leaf's most frequent class
    one_leaf: float  # the same were all rows in one leaf
    information: float  # mutual information of leaf and class, in bits
    entropy: float  # that of the class, in bits: all there is to know
    by_chance: float  # bits on average, were the leaves of these sizes drawn at random
    # Mutual information adjusted for chance: 0 where the leaves are drawn at random, 1
    # where leaves and classes are the same.
    adjusted: float

    def sentences(self, rows: str) -> str:
        """Write how pure the leaves are, of rows of this name, and what they tell."""
        known = self.information / self.entropy if self.entropy else 1.0
        return (
            f"{percent(self.purity)} of the {rows} are of their leaf's most frequent "
            f"class ({percent(self.one_leaf)} if all were in one). The "
            f"{counted(len(self.leaves), 'leaf', 'leaves')} hold "
            f"{self.information:.2f} of {self.entropy:.2f} bits about the class, "
            f"{percent(known)}; chance level {self.by_chance:.2f}."
        )


def leaf_purity(tree: Tree, names: Sequence[str], rows: np.ndarray) -> LeafPurity:
    """Measure how pure the leaves of a tree are.

    ``rows`` (n_classes, n_nodes) are those of each class that pass each node, one at
    least.
    """
    from sklearn.metrics import adjusted_mutual_info_score, mutual_info_score
    from sklearn.metrics.cluster import expected_mutual_information

    order = tree.depth_first  # leaves stand as a picture shows them, left to right
    order = order[tree.is_leaf[order]]
    order = order[rows[:, order].sum(axis=0) > 0]
    counts = rows[:, order].T  # (leaves, classes)
    of_leaf, n_rows = counts.sum(axis=1), counts.sum()
    leaf = np.repeat(np.arange(len(order)), of_leaf)
    label = np.concatenate([np.repeat(np.arange(len(names)), row) for row in counts])
    fraction = rows[:, 0][rows[:, 0] > 0] / n_rows
    nodes = pd.Index(order, name="node")
    leaves = pd.DataFrame({"rows": of_leaf}, nodes)
    leaves["label"] = np.array(names, dtype=object)[counts.argmax(axis=1)]
    leaves["purity"] = counts.max(axis=1) / of_leaf
    return LeafPurity(
        leaves,
        pd.DataFrame(counts, nodes, list(names)),
        float(counts.max(axis=1).sum() / n_rows),
        float(fraction.max()),
        float(mutual_info_score(None, None, contingency=counts) / np.log(2)),
        float(-(fraction * np.log2(fraction)).sum()),
        float(expected_mutual_information(counts, n_rows) / np.log(2)),
        float(adjusted_mutual_info_score(label, leaf)),
    )


# Whether other rows fill the nodes of a tree as those do that it was fitted to.


BY_CHANCE = 0.05  # false discoveries among the splits that are marked
LITTLE, LARGE = 0.1, 0.25  # the usual bounds of the PSI
_UNSEEN = 0.5  # added to each count, since an empty leaf has no logarithm


@dataclass(frozen=True)
class RoutingShift:
    """How other rows fill a tree's nodes."""

    # A row a split: ``rows`` and ``fitted_rows`` that reach it; ``holds`` and
    # ``fitted_holds``, the fractions of them for which its condition holds (NaN of no
    # row); ``p_value`` of a two-sided test that both fractions are one, adjusted for
    # the number of splits; ``differs``, whether that is below ``BY_CHANCE``; ``psi`` of
    # its two sides (NaN where no row comes).
    splits: pd.DataFrame
    psi: float  # population stability index of the leaves
    psi_by_chance: float  # what it would be on average were both drawn alike

    @property
    def n_differing(self) -> int:
        """Splits at which these rows part differently, by more than chance."""
        return int(self.splits["differs"].sum())

    @property
    def widest_split(self) -> int | None:
        """Of the splits that differ, that which sends most rows elsewhere."""
        found = self.splits[self.splits["differs"]]
        if found.empty:
            return None
        moved = found["rows"] * (found["holds"] - found["fitted_holds"]).abs()
        return int(found.index[int(moved.argmax())])

    def sentences(self, tree: Tree, fitted: str) -> str:
        """Write whether rows look like the fitted ones, so named, and where not."""
        psi = f"PSI {significant(self.psi, 2)}; "
        psi += f"chance level {significant(self.psi_by_chance, 2)}"
        n_splits = counted(tree.n_splits, "split")
        where = f"any of {n_splits}" if tree.n_splits > 1 else "the only split"
        if self.splits.empty:
            return "All rows end in the tree's only leaf."
        split = self.widest_split
        if split is None:
            return f"No significant drift against the {fitted} at {where} ({psi})."
        how = "Slight" if self.psi < LITTLE else "Significant"
        at = self.splits.index.get_loc(split)
        holds, fitted_holds = self.splits[["holds", "fitted_holds"]].to_numpy()[at]
        most_at = split_text(tree, split, most=MOST_LISTED)
        return (
            f"{how} drift against the {fitted} at {self.n_differing} of {n_splits} "
            f"({psi}). Most at “{most_at}”: it holds for {percent(holds)} of "
            "those that reach it, of the fitted rows for "
            f"{percent(fitted_holds)}."
        )


def routing_shift(tree: Tree, fitted: np.ndarray, rows: np.ndarray) -> RoutingShift:
    """Hold the rows at each split against those that the tree was fitted to.

    Of the rows that reach a split, the fractions for which its condition holds are
    compared by Fisher's exact test, twice the smaller tail. As each split is given the
    rows that reach it, a shift is found where it arises and not in all nodes below; the
    tests are independent, and adjusted together (Benjamini and Hochberg).

    Both are the rows (n_nodes,) that pass each node: those it was fitted to, and
    others, which are not among them; at least one each.
    """
    from scipy.stats import false_discovery_control

    split = np.flatnonzero(~tree.is_leaf)
    left, right = tree.left[split], tree.right[split]
    some = (rows[split] > 0) & (fitted[split] > 0)
    with np.errstate(invalid="ignore"):
        holds, fitted_holds = rows[left] / rows[split], fitted[left] / fitted[split]
    p_value = _two_sided(rows[left], rows[split], fitted[left], fitted[split])
    columns = {"rows": rows[split], "fitted_rows": fitted[split]}
    columns |= {"holds": holds, "fitted_holds": fitted_holds}
    columns["p_value"] = false_discovery_control(p_value) if len(split) else p_value
    splits = pd.DataFrame(columns, pd.Index(split, name="node"))
    splits["psi"] = [
        stability_index(fitted[[a, b]], rows[[a, b]]) if known else np.nan
        for a, b, known in zip(left, right, some)
    ]
    splits["differs"] = splits["p_value"] < BY_CHANCE
    leaf = np.flatnonzero(tree.is_leaf)
    counts = fitted[leaf], rows[leaf]
    return RoutingShift(splits, stability_index(*counts), _index_by_chance(*counts))


def stability_index(expected: np.ndarray, actual: np.ndarray) -> float:
    """Measure how differently two sets of rows fill the same bins (PSI).

    The sum over bins of ``(q - p) * log(q / p)``, p and q their fractions; half a row
    is added to each bin (n_bins,). Below 0.1 it is usually called little, above 0.25
    large.
    """
    expected, actual = np.asarray(expected), np.asarray(actual)
    totals = expected.sum(), actual.sum()
    return float(_index_terms(expected, actual, *totals, len(actual)).sum())


def _index_terms(expected, actual, n_expected, n_actual, n_bins: int) -> np.ndarray:
    """Return what bins with so many rows, of so many in all, add to the PSI."""
    p = (expected + _UNSEEN) / (n_expected + _UNSEEN * n_bins)
    q = (actual + _UNSEEN) / (n_actual + _UNSEEN * n_bins)
    return (q - p) * np.log(q / p)


def _index_by_chance(expected: np.ndarray, actual: np.ndarray) -> float:
    """Return the mean PSI of all ways to tell which of the rows are the actual ones.

    The usual ``(n_bins - 1) * (1 / n + 1 / m)`` is three times that where bins have few
    rows. What a bin adds is known for each number of actual rows that it may hold.
    """
    from scipy.stats import hypergeom

    both, n_actual, n_expected = expected + actual, actual.sum(), expected.sum()
    mean = both * (n_actual / (n_expected + n_actual))
    reach = 6 * np.sqrt(mean) + 10  # numbers further off hardly ever happen
    least = np.maximum(mean - reach, np.maximum(both - n_expected, 0)).astype(int)
    most = np.minimum(mean + reach, np.minimum(both, n_actual)).astype(int)
    n_ways = most - least + 1
    bins = np.repeat(np.arange(len(both)), n_ways)
    held = least[bins] + np.arange(len(bins)) - (n_ways.cumsum() - n_ways)[bins]
    chance = hypergeom(n_expected + n_actual, both[bins], n_actual).pmf(held)
    totals = n_expected, n_actual, len(both)
    return float(chance @ _index_terms(both[bins] - held, held, *totals))


def shift_by_month(tree: Tree, fitted: np.ndarray, leaf, month) -> pd.DataFrame:
    """Hold the rows of each month against those that the tree was fitted to.

    A row a month, in order: ``month``, ``rows``, ``psi``, ``psi_by_chance``, and
    ``differs``, whether any split's rows part differently by more than chance, all
    months and splits taken together. Each row has its leaf and its month, (n_rows,);
    those whose month is "" are left out. ``fitted`` is as of ``routing_shift``.
    """
    from scipy.stats import false_discovery_control

    names, code = np.unique(np.asarray(month), return_inverse=True)
    found, least = [], []
    for name, rows in zip(
        names.tolist(), rows_passing(tree.parent, leaf, code, len(names))
    ):
        if name:
            shift = routing_shift(tree, fitted, rows)
            found.append((name, int(rows[0]), shift.psi, shift.psi_by_chance))
            least.append(shift.splits["p_value"].to_numpy().min(initial=1.0))
    table = pd.DataFrame(found, columns=["month", "rows", "psi", "psi_by_chance"])
    table["differs"] = false_discovery_control(least) < BY_CHANCE if found else []
    return table


def _two_sided(hits, rows, other_hits, other_rows) -> np.ndarray:
    """Test whether two fractions are one, for each pair; 1 where there is no row."""
    from scipy.stats import hypergeom

    chance = hypergeom(rows + other_rows, hits + other_hits, rows)
    tail = np.minimum(chance.cdf(hits), chance.sf(hits - 1))
    return np.fmin(2 * tail, 1.0)  # of no row on both sides it is not known


# How alike the routes of classes are: which way each takes through one tree.


_MOST_ORDERED = 50  # classes; the best order of more takes too long to find


def route_similarity(rows: np.ndarray) -> np.ndarray:
    """Measure for each two groups of rows how much of their routes they share.

    A group's route is the distribution of its rows over the nodes. Pair the rows of two
    groups so that they stay together as long as they can: of the nodes below the root
    that they pass, this is the fraction that the two of a pair pass together. It is
    Bray and Curtis's similarity of the two distributions, and 1 less their
    tree-Wasserstein distance over the mean length of their paths.

    Source: the class routes of Zantedeschi, Kusner and Niculae, "Learning Binary
    Decision Trees by Argmin Differentiation", arXiv:2010.04627, which are looked at,
    not measured, there.

    ``rows`` (n_groups, n_nodes) are as ``rows_passing`` counts them; each group has a
    row. The similarities (n_groups, n_groups) are in [0, 1] and symmetric: 1 where both
    fill each leaf alike, 0 where no row of the one passes a node of the other but the
    root.
    """
    from scipy.spatial.distance import pdist, squareform

    fraction = rows / rows[:, :1]
    if rows.shape[1] == 1:  # nothing but the root, where all are together
        return np.ones((len(rows), len(rows)))
    return 1 - squareform(pdist(fraction[:, 1:], "braycurtis"))


@dataclass(frozen=True)
class RouteSimilarity:
    """How alike the routes of several classes are."""

    names: tuple[str, ...]  # of the classes
    # float (n_classes, n_classes): as ``route_similarity`` measures it.
    similarity: np.ndarray
    # float (n_classes - 1, 4): their hierarchy by average linkage of 1 - similarity, as
    # scipy writes it.
    linkage: np.ndarray

    @property
    def order(self) -> np.ndarray:
        """Places of the classes, int (n_classes,), those with alike routes together."""
        from scipy.cluster.hierarchy import leaves_list

        return leaves_list(self.linkage)

    def brackets(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the dendrogram as lines, one bracket around each two that are joined.

        Places and similarities of its corners, (n_classes - 1, 4) each: places from 0
        in the order of ``order``, and mean similarities, 1 at a class itself.
        """
        from scipy.cluster.hierarchy import dendrogram

        drawn = dendrogram(self.linkage, no_plot=True)
        # scipy puts the leaves at 5, 15, 25, ... and its heights are 1 - similarity.
        return (np.array(drawn["icoord"]) - 5) / 10, 1 - np.array(drawn["dcoord"])

    @property
    def most_alike(self) -> tuple[int, int]:
        """Places of the two classes whose routes are most alike."""
        return self._pair(np.argmax)

    @property
    def least_alike(self) -> tuple[int, int]:
        """Places of the two classes whose routes are least alike."""
        return self._pair(np.argmin)

    @property
    def finding(self) -> str:
        """Which classes' routes are most alike, in words."""
        pair, overlap = self._pair_words(self.most_alike)
        if len(self.names) == 2:
            return f"Route overlap of {pair}: {overlap}"
        return f"Most similar routes: {pair}, {overlap}"

    def parting_words(self, tree: Tree, rows: np.ndarray) -> str:
        """Write which classes' routes are least alike, and where they part.

        Their rows that pass each node are an int array of shape (2, n_nodes).
        """
        node, fraction = parting_split(tree, *rows)
        share = percent(round(fraction, 2))
        parting = f"{share} of their rows separate at {split_name(tree, node)}."
        if len(self.names) == 2:
            return parting
        pair, overlap = self._pair_words(self.least_alike)
        return f"Least similar: {pair}, {overlap}; {parting}"

    def _pair_words(self, pair: tuple[int, int]) -> tuple[str, str]:
        """Name two classes, and write how much of their routes they share."""
        first, second = (f"“{self.names[i]}”" for i in pair)
        return f"{first} and {second}", percent(round(self.similarity[pair], 2))

    def _pair(self, best) -> tuple[int, int]:
        """The pair of classes whose similarity is best, the first among equals."""
        first, second = np.triu_indices(len(self.names), 1)
        place = int(best(self.similarity[first, second]))
        return int(first[place]), int(second[place])


def compare_routes(names: Sequence[str], rows: np.ndarray) -> RouteSimilarity:
    """Compare the routes of at least two classes, and join those that are alike.

    ``rows`` (n_classes, n_nodes) are as ``rows_passing`` counts them. ValueError if
    there are fewer than two classes, or one has no row.
    """
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    if len(names) < 2 or not rows[:, 0].all():
        raise ValueError("Routes are compared of two or more classes that have rows.")
    similarity = route_similarity(rows)
    distance = squareform(1 - similarity, checks=False)
    joined = linkage(distance, "average", optimal_ordering=len(names) <= _MOST_ORDERED)
    return RouteSimilarity(tuple(names), similarity, joined)


def parting_split(
    tree: Tree, first: np.ndarray, second: np.ndarray
) -> tuple[int, float]:
    """Find the split at which most rows of two groups part, and how many do.

    Of a tree with a split at least, and of the rows (n_nodes,) of each group that pass
    each node; of equal splits it is the nearest to the root. How many is a fraction of
    the pairs of ``route_similarity``.
    """
    together = np.minimum(first / first[0], second / second[0])
    parted = np.where(tree.is_leaf, 0.0, together)
    np.subtract.at(parted, tree.parent[1:], together[1:])
    node = min(
        np.flatnonzero(~tree.is_leaf),
        key=lambda split: (-round(float(parted[split]), 12), tree.level[split]),
    )
    return int(node), float(parted[node])
