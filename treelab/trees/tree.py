"""Tree: an immutable decision tree, in a table's own columns and units."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, TypeGuard

import numpy as np
import pandas as pd

from treelab.trees.cells import LARGEST_NUMBER, CellForm, as_form
from treelab.trees.feature import Feature, feature_matrix
from treelab.trees.io import Stored
from treelab.trees.losses import Loss, as_loss

# Class labels: the caller's own, as plain values.


def plain_label(label):
    """Return a class label as a plain str, int, float or bool."""
    if isinstance(label, np.generic):
        label = label.item()
    if not isinstance(label, str | int | float | bool):
        raise ValueError(f"A class label must be text or a number, got {label!r}.")
    return label


def task_of(classes: tuple | None) -> str:
    """Return "binary", "multiclass" or "regression"."""
    if classes is None:
        return "regression"
    return "binary" if len(classes) <= 2 else "multiclass"


def labels(classes: Iterable) -> np.ndarray:
    """Return class labels as an array, of objects where no type of numpy holds all."""
    classes = list(classes)
    if len({type(c) for c in classes}) == 1:
        array = np.array(classes)
        if array.tolist() == classes:  # not 0 and 2**63, which would be floats
            return array
    array = np.empty(len(classes), dtype=object)
    array[:] = classes
    return array


def as_matrix(weights: np.ndarray) -> np.ndarray:
    """Return weights of classes (C,) as those of pairs (C, C), which may be given."""
    return np.diag(weights) if weights.ndim == 1 else weights


def most_probable(
    classes: tuple, probabilities: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the label of each row's largest probability (n_rows, n_classes).

    Where there are ``weights`` (n_classes,), probabilities are multiplied by them; each
    column of (n_classes, n_classes) says what its class makes of all probabilities.
    """
    if weights is not None:
        probabilities = probabilities @ as_matrix(weights)
    return labels(classes)[probabilities.argmax(axis=1)]


# Dataclasses of read-only arrays, and how they are taken apart to be stored.


class Arrays(Stored):
    """Base of a frozen dataclass of features, read-only arrays and plain settings."""

    features: tuple[Feature, ...]
    classes: tuple | None
    array_types: ClassVar[dict[str, type]]
    has_predictor: ClassVar[bool] = False  # on top of the trees, as a path may have

    def __post_init__(self):
        put = object.__setattr__
        put(self, "features", tuple(self.features))
        put(self, "notes", tuple(str(note) for note in self.notes))
        put(self, "target_form", as_form(self.target_form))
        put(self, "loss", as_loss(self.loss))
        if self.classes is not None:
            if isinstance(self.classes, str) or not len(self.classes):
                raise ValueError(
                    f"classes must be a sequence of labels, got {self.classes!r}."
                )
            put(self, "classes", tuple(plain_label(c) for c in self.classes))
            if len(set(self.classes)) != len(self.classes):
                raise ValueError(f"A class is listed twice: {list(self.classes)}.")
        for name, dtype in self.array_types.items():
            array = getattr(self, name)
            if array is not None:
                put(self, name, frozen(exact_copy(name, array, dtype)))
        for is_wrong, sentence in self._faults():
            if is_wrong:
                raise ValueError(sentence)

    def _faults(self) -> Iterator[tuple[Any, str]]:
        """Yield whether something is wrong, and what; what follows relies on it."""
        raise NotImplementedError

    @property
    def task(self) -> str:
        """Return "binary", "multiclass" or "regression"."""
        return task_of(self.classes)

    @property
    def read(self) -> np.ndarray:
        """Indices of the features that predictions read, ascending."""
        raise NotImplementedError

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the user's table that predictions read."""
        return tuple(dict.fromkeys(self.features[j].column for j in self.read))

    def __setstate__(self, state):
        self.__dict__.update(state)
        for array in self.__dict__.values():  # copies come back as arrays that change
            if isinstance(array, np.ndarray):
                frozen(array)

    def pack(self) -> tuple[dict, dict[str, np.ndarray]]:
        """Return plain settings and named arrays, from which ``unpack`` rebuilds it."""
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        own = {name: getattr(self, name) for name in names}
        arrays = {name: own.pop(name) for name in self.array_types}
        return own, {name: a for name, a in arrays.items() if a is not None}

    @classmethod
    def unpack(cls, settings: dict, arrays: dict[str, np.ndarray]):
        """Rebuild the object that ``pack`` took apart; it may share its features."""
        features = settings["features"]
        if not isinstance(features, tuple):  # as written, not those of another tree
            features = tuple(Feature(**own) for own in features)
        return cls(**{**settings, "features": features}, **arrays)


def frozen(array: np.ndarray) -> np.ndarray:
    """Return the array, made read-only."""
    array.flags.writeable = False
    return array


def exact_copy(name: str, array, dtype) -> np.ndarray:
    """Return a copy of the array in this type, or ValueError where it does not fit."""
    try:
        given = np.asarray(array)
        if given.dtype == dtype:
            return given.copy("K")
        with np.errstate(invalid="ignore"):
            copy = np.array(given, dtype=dtype)
    except (TypeError, OverflowError) as error:
        raise ValueError(f"{name} must hold numbers: {error}.") from error
    if copy.dtype.kind != "f" and not np.array_equal(copy, given):
        raise ValueError(f"{name} must hold {copy.dtype.name} values, got {given!r}.")
    return copy


# How rows walk through a tree: sides, leaves, and how many rows pass each node.


AXIS, LEAF, OBLIQUE = 0, -1, -2  # in ``Tree.feature``: an index, or one of these


def used_features(tree: "Tree", *, leaves: bool = False) -> np.ndarray:
    """Return indices of the features that splits (and linear leaves) read."""
    used = np.zeros(len(tree.features), dtype=bool)
    used[tree.feature[tree.feature >= AXIS]] = True
    if tree.weights is not None:
        used |= (tree.weights[tree.feature == OBLIQUE] != 0).any(axis=0)
    if leaves and tree.leaf_weights is not None:
        used |= (tree.leaf_weights[tree.is_leaf] != 0).any(axis=0)
    return np.flatnonzero(used)


def read_features(tree: "Tree", X, *, leaves: bool = False) -> np.ndarray:
    """Return the float64 matrix (n_rows, n_features) of what the tree reads of X."""
    return feature_matrix(tree.features, X, used_features(tree, leaves=leaves))


def filled(features, matrix: np.ndarray, index: int, rows=None) -> np.ndarray:
    """Return one column (n_rows,) of the matrix with its missing values filled.

    Of the ``rows`` wanted, in this order; None: all. ValueError if a value is missing
    and the feature knows no number that stands for it.
    """
    x = matrix[:, index]
    if rows is not None:
        x = x[rows]
    missing = np.isnan(x)
    if not missing.any():
        return x
    feature = features[index]
    if np.isnan(feature.fill):
        raise ValueError(
            f"Column {feature.column!r} has missing values, and this tree, which "
            "adds up columns, has no number to put in their place. Fill them in."
        )
    return np.where(missing, feature.fill, x)


def leaf_of(tree: "Tree", matrix: np.ndarray) -> np.ndarray:
    """Return the leaf, int64 (n_rows,), of each row of the feature matrix."""
    node = np.zeros(len(matrix), dtype=np.int64)
    rows = np.arange(len(matrix)) if tree.n_nodes > 1 else np.arange(0)
    while len(rows):
        here = node[rows]
        left = goes_left(tree, matrix, here, rows)
        here = np.where(left, tree.left[here], tree.right[here])
        node[rows] = here
        rows = rows[tree.left[here] >= 0]
    return node


def goes_left(tree: "Tree", matrix: np.ndarray, node: np.ndarray, rows: np.ndarray):
    """Whether, bool (k,), row ``rows[i]`` takes the left branch at ``node[i]``."""
    index = tree.feature[node]
    oblique = index == OBLIQUE
    if not oblique.any():
        return _axis_left(tree, matrix, node, rows)
    left = np.empty(len(node), dtype=bool)
    axis = ~oblique
    left[axis] = _axis_left(tree, matrix, node[axis], rows[axis])
    node, rows = node[oblique], rows[oblique]
    total = np.zeros(len(node))
    assert tree.weights is not None  # as of every tree with an oblique split
    _add_terms(total, tree, matrix, tree.weights, node, rows)
    left[oblique] = total <= tree.threshold[node]
    return left


def _add_terms(total, tree: "Tree", matrix, weights, node, rows) -> None:
    """Add to ``total[i]`` what the weights of ``node[i]`` make of row ``rows[i]``.

    One column after the other: the sum of a row never depends on the other rows, as it
    would in a matrix product, so no row changes sides with the batch.
    """
    weights = weights.T
    tested = np.bincount(node, minlength=tree.n_nodes) > 0
    for j in np.flatnonzero((weights[:, tested] != 0).any(axis=1)).tolist():
        weight = weights[j][node]
        if weight.all():
            total += weight * filled(tree.features, matrix, j, rows)
        else:  # a node that ignores a column needs no fill
            reads = np.flatnonzero(weight)
            x = filled(tree.features, matrix, j, rows[reads])
            total[reads] += weight[reads] * x


def rows_at(tree: "Tree", matrix: np.ndarray, node: int) -> np.ndarray:
    """Return the places, ascending, of the rows of the matrix that reach a node.

    Only the splits above it are evaluated, each on the rows that still pass.
    """
    rows = np.arange(len(matrix))
    for above, below in pairwise(tree.path_to(node)):
        left = goes_left(tree, matrix, np.full(len(rows), above), rows)
        rows = rows[left == (tree.left[above] == below)]
    return rows


def _axis_left(tree: "Tree", matrix, node, rows):
    """Whether rows take the left branch at splits that test one feature."""
    x = matrix[rows, tree.feature[node]]
    left = x <= tree.threshold[node]
    missing = np.isnan(x)
    if missing.any():
        left = np.where(missing, tree.missing_left[node], left)
    return left


def margins(tree: "Tree", matrix: np.ndarray) -> np.ndarray:
    """Return threshold - value at every node, float64 (n_rows, n_nodes).

    A row takes the left branch exactly where its margin is at least 0. A missing
    value at an axis split gives +inf or -inf; leaves have NaN.
    """
    margin = np.full((tree.n_nodes, len(matrix)), np.nan)
    axis = np.flatnonzero(tree.feature >= AXIS)
    value = matrix.T[tree.feature[axis]]
    missing = np.where(tree.missing_left[axis], np.inf, -np.inf)[:, None]
    margin[axis] = np.where(np.isnan(value), missing, _side(tree, axis, value))
    oblique = np.flatnonzero(tree.feature == OBLIQUE)
    margin[oblique] = _side(tree, oblique, weighted_sums(tree, matrix, oblique))
    return margin.T


def _side(tree: "Tree", nodes: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Threshold less value, (k, n_rows); where that is no number, as <= compares."""
    threshold = tree.threshold[nodes, None]
    with np.errstate(invalid="ignore"):
        side = threshold - value
    unknown = np.isnan(side)  # inf - inf is NaN, yet value <= threshold is known
    if unknown.any():
        side = np.where(unknown, np.where(value <= threshold, 0, -np.inf), side)
    return side


def weighted_sums(tree: "Tree", matrix: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Return what each of k oblique splits adds up, (k, n_rows), columns in order."""
    total = np.zeros((len(nodes), len(matrix)))
    if tree.weights is None or not len(nodes):
        return total
    weights = tree.weights[nodes]
    for j in np.flatnonzero((weights != 0).any(axis=0)).tolist():
        weight, x = weights[:, j], filled(tree.features, matrix, j)
        if weight.all():
            total += np.multiply.outer(weight, x)
        else:  # a split that ignores a column is not affected by it, be it infinite
            reads = np.flatnonzero(weight)
            total[reads] += np.multiply.outer(weight[reads], x)
    return total


def regression_values(tree: "Tree", matrix: np.ndarray) -> np.ndarray:
    """Return a regression tree's predictions, float64 (n_rows,), linear leaves too.

    They are (n_rows, n_outputs) where the tree has several.
    """
    leaf = leaf_of(tree, matrix)
    if tree.outputs:
        return tree.value[leaf]
    if tree.leaf_weights is None or tree.leaf_bias is None:
        return tree.value[leaf, 0]
    value = tree.leaf_bias[leaf, 0]
    _add_terms(value, tree, matrix, tree.leaf_weights, leaf, np.arange(len(leaf)))
    return value


def sum_up(tree: "Tree", at_leaf: np.ndarray) -> np.ndarray:
    """Add what stands at the leaves to every node above them, along the first axis."""
    total = np.array(at_leaf)
    order = np.argsort(tree.level, kind="stable")
    starts = np.searchsorted(tree.level[order], np.arange(1, tree.depth + 1))
    for nodes in reversed(np.split(order, starts)[1:]):  # the deepest level first
        np.add.at(total, tree.parent[nodes], total[nodes])
    return total


def rows_through(
    tree: "Tree", leaf: np.ndarray, code=None, n_classes: int = 0, weight=None
) -> np.ndarray:
    """Count the rows that pass each node, (n_nodes,), or add up their weights.

    By the ``leaf`` of each row. With the class ``code`` of each row counts are made for
    each class, (n_nodes, n_classes). Counts are int64, sums of weights float64.
    """
    n = tree.n_nodes
    if code is None:
        return sum_up(tree, np.bincount(leaf, weight, minlength=n))
    flat = np.bincount(leaf * n_classes + code, weight, minlength=n * n_classes)
    return sum_up(tree, flat.reshape(n, n_classes))


# Checks that arrays really are a tree, so that no walk through it is endless.
#
# An ensemble's trees are complete: their arrays need the right shapes and numbers.


LEAF_OUTPUTS = ("logits", "probabilities")


def check_single(tree) -> None:
    """Raise TypeError for a model of several trees where one is shown."""
    if not isinstance(tree, Tree):
        raise TypeError(
            f"One tree can be shown, got a {type(tree).__name__}. Give a Tree: one of "
            "forest[0], ensemble.estimator(0), path.tree, or tree_ of an estimator."
        )


def faults(tree: "Tree") -> Iterator[tuple[Any, str]]:
    """Yield whether something is wrong with a tree, and what; later ones rely on it."""
    n, n_features = len(tree.left), len(tree.features)
    n_classes, is_classifier = len(tree.classes or ()), tree.classes is not None
    yield n == 0, "A tree needs at least one node, its root."

    # Every array has one row a node, and the columns that it needs.
    n_outputs = tree.value.shape[1] if tree.value.ndim == 2 else -1
    columns = {"value": n_classes or n_outputs, "class_counts": n_classes}
    columns |= {"weights": n_features, "leaf_weights": n_features}
    columns |= {"leaf_bias": n_outputs, "between": 2, "interval": 2}
    for name in PER_NODE:
        array = getattr(tree, name)
        wanted = (n, columns[name]) if name in columns else (n,)
        if array is not None and array.shape != wanted:
            is_shape = f"must have the shape {wanted}, got {array.shape}"
            yield True, f"{name} {is_shape}: the tree has {n} nodes."

    # Every node but the root is the child of one node, and the root reaches all.
    left, right, split = tree.left, tree.right, tree.left >= 0
    single = (right >= 0) != split
    where = f"Node {single.argmax()}"
    yield single.any(), f"{where} has one child; a split has two, a leaf none."
    children = np.sort(np.concatenate([left[split], right[split]]))
    yield (
        not np.array_equal(children, np.arange(1, n)),
        f"Each of nodes 1 to {n - 1} must be the child of exactly one.",
    )
    reached, here = 1, np.array([0])
    while len(here := here[split[here]]):
        here = np.concatenate([left[here], right[here]])
        reached += len(here)
    lost = f"{n - reached} nodes cannot be reached from the root"
    yield reached != n, f"{lost}: they form a circle."

    # Every split tests a known feature or a weighted sum, against a threshold.
    oblique, tests = tree.feature == OBLIQUE, tree.feature[split]
    yield (
        (tree.feature[~split] != LEAF).any(),
        "A leaf tests nothing: its feature must be -1.",
    )
    odd = tests[((tests < AXIS) & (tests != OBLIQUE)) | (tests >= n_features)]
    yield (
        len(odd) > 0,
        f"Splits must test a feature from 0 to {n_features - 1} (or be oblique, -2), "
        f"got {[*odd, None][0]}.",
    )
    unknown = split & np.isnan(tree.threshold)
    where = f"Node {unknown.argmax()}"
    yield unknown.any(), f"{where} is a split, but its threshold is NaN."
    if tree.weights is None:
        yield oblique.any(), "An oblique split (feature -2) needs weights."
    else:
        is_finite = np.isfinite(tree.weights[oblique]).all()
        yield not is_finite, "The weights of oblique splits must be finite numbers."

    # Every node predicts numbers, or probabilities, and counts rows.
    check_predictions("value", tree.value, proba=False)
    yield (
        is_classifier and not _are_probabilities(tree.value),
        "value must hold class probabilities, from 0 to 1.",
    )
    linear, bias = tree.leaf_weights, tree.leaf_bias
    is_half = (linear is None) != (bias is None)
    yield is_half, "Linear leaves need both leaf_weights and leaf_bias."
    if linear is not None and bias is not None:
        yield is_classifier, "Linear leaves are for regression; this tree has classes."
        check_predictions("leaf_bias", bias, proba=False)
        yield not np.isfinite(linear).all(), "leaf_weights must hold finite numbers."
    for name in ("n_rows", "class_counts", "missing_rows", "weight"):
        own = getattr(tree, name)
        is_negative = own is not None and not (own >= 0).all()
        yield is_negative, f"{name} counts rows, so it cannot be negative."
    is_bound = tree.activity is None or (tree.activity >= 0).all()
    yield not is_bound, "activity must be at least 0 at each node."
    chosen = tree.decision
    yield (
        chosen is not None and not ((chosen >= 0) & (chosen < n_classes)).all(),
        f"decision must hold places of the {n_classes} classes.",
    )
    check_class_weights(tree.class_weights, n_classes)
    yield (
        tree.shrinkage is not None and not tree.shrinkage >= 0,
        f"shrinkage must be at least 0, got {tree.shrinkage!r}.",
    )

    # An interval belongs to a number, and says how many rows it holds.
    ends, level = tree.interval, tree.interval_level
    yield (ends is None) != (level is None), "interval and interval_level go together."
    if ends is not None and level is not None:
        yield is_classifier, "An interval is of numbers; this tree predicts classes."
        yield (
            not 0 < level < 1,
            f"interval_level must lie between 0 and 1, got {level!r}.",
        )
        is_crossed = not (ends[:, 0] <= ends[:, 1]).all()
        yield is_crossed, "The lower end of an interval must not be above its upper."

    # Several outputs are numbers of different names; quantiles never cross.
    outputs = tree.outputs
    yield (
        not is_classifier and n_outputs != max(1, len(outputs)),
        "A regression tree has one number at each node, or one for each of its "
        f"outputs, but value has {n_outputs} columns for {len(outputs)} outputs. For "
        "classes, pass their labels.",
    )
    if outputs:
        yield (
            is_classifier or len({*outputs}) < max(2, len(outputs)),
            f"outputs must name two numbers or more, got {outputs!r}.",
        )
        yield (
            linear is not None or ends is not None,
            "A tree of several outputs has constant leaves, and no interval.",
        )
        falls = tree.levels and (np.diff(tree.value, axis=1) < 0).any()
        yield falls, "Quantiles of a node must not fall as their levels rise."


def check_class_weights(
    weights: np.ndarray | None, n_classes: int, n_axes: tuple[int, ...] = (1,)
) -> None:
    """Raise ValueError unless there is a finite weight of each class, none below 0.

    Or of each pair of classes, where there may be two axes.
    """
    if weights is None:
        return
    if (
        weights.shape not in [(n_classes,) * n for n in n_axes]
        or not (np.isfinite(weights) & (weights >= 0)).all()
    ):
        raise ValueError(
            f"class_weights must hold {n_classes} numbers of at least 0, one a class."
        )


def check_predictions(name: str, value: np.ndarray, *, proba: bool) -> None:
    """Raise ValueError unless values (..., n_outputs) can be predictions.

    ``name`` is what the message calls them; ``proba``: they are class probabilities,
    which sum to 1.
    """
    bad = ~(np.abs(value) <= LARGEST_NUMBER)
    if bad.any():
        raise ValueError(
            f"{name} must hold finite numbers up to {LARGEST_NUMBER:g}, got "
            f"{value[bad][0]:g}."
        )
    if proba and not (_are_probabilities(value) and np.allclose(value.sum(axis=-1), 1)):
        raise ValueError(
            f"{name} must hold class probabilities, from 0 to 1, with the sum 1."
        )


def _are_probabilities(value: np.ndarray) -> bool:
    """Whether values are from 0 to 1, up to rounding."""
    return bool(((value >= -1e-9) & (value <= 1 + 1e-9)).all())


def knows_impurity(tree: "Tree") -> bool:
    """Whether a tree has rows, and the impurity of every node that has some."""
    return bool(tree.n_rows[0] and not np.isnan(tree.impurity[tree.n_rows > 0]).any())


def knows_interval(model: object) -> TypeGuard["Tree"]:
    """Whether a model is a tree that predicts an interval, too."""
    return isinstance(model, Tree) and model.interval_fraction is not None


def check_one_output(tree: "Tree") -> None:
    """Raise ValueError where a tree predicts several numbers together."""
    if tree.outputs:
        raise ValueError(
            f"This is of one prediction, and the tree has {len(tree.outputs)}: "
            f"{', '.join(tree.outputs)}. Take tree.of_output({tree.outputs[0]!r})."
        )


def predicts_several(model: object) -> TypeGuard["Tree"]:
    """Whether a model is a tree that predicts several numbers together."""
    return isinstance(model, Tree) and bool(model.outputs)


# Statistics of rows at every node of a tree: counts, impurity, means.


def class_codes(classes: tuple, y, target: str = "target") -> np.ndarray:
    """Return the position of each label of ``y`` in ``classes``, int64 (n_rows,).

    ValueError if a label is missing or not among the classes.
    """
    codes, labels = pd.factorize(np.asarray(y), use_na_sentinel=True)
    position = {label: i for i, label in enumerate(classes)}
    table = np.array([position.get(label, -1) for label in labels] + [-1])
    found = table[codes]
    if (found < 0).any():
        row = int((found < 0).argmax())
        raise ValueError(
            f"{target!r} holds {np.asarray(y)[row]!r} in row {row + 1}, which is "
            f"none of the classes {list(classes)[:8]}."
        )
    return found


def check_target(tree: "Tree", n_rows: int, y) -> np.ndarray:
    """Return ``y`` as class positions, or as float64 values where there are none.

    Where a tree has several outputs they are (n_rows, n_outputs).
    """
    y, n_outputs = np.asarray(y), len(tree.outputs)
    if n_outputs and not y.size:
        y = y.reshape(0, n_outputs)
    if tree.levels and y.ndim == 1:
        y = np.repeat(y[:, None], n_outputs, axis=1)
    if y.shape != ((n_rows, n_outputs) if n_outputs else (n_rows,)):
        each = f"{n_outputs} values" if n_outputs else "one value"
        raise ValueError(
            f"y must have {each} for each of the {n_rows} rows, got shape {y.shape}."
        )
    if tree.classes is not None:
        return class_codes(tree.classes, y, tree.target)
    y = y.astype(np.float64)
    missing = np.isnan(y).any(axis=1) if y.ndim == 2 else np.isnan(y)
    if missing.any():
        row = int(missing.argmax())
        raise ValueError(f"{tree.target!r} is missing in row {row + 1}.")
    return y


def with_leaves(
    tree: "Tree",
    matrix: np.ndarray | None,
    leaf: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray | None = None,
) -> "Tree":
    """Return ``with_rows`` of rows whose numbers and leaves are known already.

    ``matrix`` is as ``read_features`` returns it; None: what the rows leave free around
    the thresholds stays unknown where it was. ``y`` is as ``check_target`` returns it,
    weights are above 0.
    """
    n_rows = rows_through(tree, leaf)
    mass = n_rows if weight is None else rows_through(tree, leaf, weight=weight)
    some = np.where(n_rows > 0, mass, 1)
    if tree.classes is not None:
        counts = rows_through(tree, leaf, y, len(tree.classes), weight)
        counts = counts.astype(np.float64)
        mean = counts / some[:, None]
        impurity = np.where(n_rows > 0, 1 - (mean**2).sum(axis=1), 0.0)
    else:
        counts = None
        columns = y.T if y.ndim == 2 else y[None]
        moments = [_moments(tree, leaf, own, weight, some) for own in columns]
        mean, variance = (np.stack(own, axis=1) for own in zip(*moments))
        impurity = variance[:, 0]
        if tree.outputs and not tree.levels:  # targets have units of their own
            root = np.where(variance[0] > 0, variance[0], 1.0)
            impurity = (variance / root).mean(axis=1)
        if tree.loss is not None:
            rows = np.ones(len(y)) if weight is None else weight
            mean = node_constants(tree, leaf, y, rows, tree.loss)[0]
    reached = (n_rows > 0) & ~tree.is_leaf
    if tree.shrinkage is not None:  # they are known, and hold for any rows
        reached[:] = False
    value = np.where(reached[:, None], mean, tree.value)
    between, missing_rows = tree.between, tree.missing_rows
    if matrix is not None and (between is None or missing_rows is None):
        # Once only, from the training rows: a split is written alike when the tree
        # takes its numbers from other rows.
        between, missing_rows = _neighbours(tree, matrix, leaf)
    return replace(
        tree,
        n_rows=n_rows,
        impurity=impurity,
        value=value,
        class_counts=counts,
        between=between,
        missing_rows=missing_rows,
        weight=None if weight is None else mass,
    )


def _moments(
    tree: "Tree", leaf: np.ndarray, y: np.ndarray, weight: np.ndarray | None, mass
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance (n_nodes,) of values (n_rows,) at each node of this mass."""
    centre = y.mean() if len(y) else 0.0  # keeps the squares small and exact
    each = 1.0 if weight is None else weight
    first, second = (
        sum_up(tree, np.bincount(leaf, power, minlength=tree.n_nodes)) / mass
        for power in (each * (y - centre), each * (y - centre) ** 2)
    )
    return first + centre, np.maximum(second - first**2, 0.0)


def node_constants(
    tree: "Tree", leaf: np.ndarray, y: np.ndarray, weight: np.ndarray, loss: Loss
) -> tuple[np.ndarray, np.ndarray]:
    """Find what predicts the rows of every node of a regression best by a loss.

    Rows have a leaf, targets ``y`` (n_rows,) or (n_rows, n_outputs), and a weight.
    Returned are constants (n_nodes, n_outputs), ``tree.value`` where no row passes, and
    the mean loss (n_nodes,) of the rows with their node's constant, 0 where no row
    passes.
    """
    constants, losses = tree.value.copy(), np.zeros(tree.n_nodes)
    for rows, node in rows_by_level(tree, leaf):
        own = y[rows], weight[rows]
        found = loss.constants(node, *own, tree.n_nodes)
        at = np.unique(node)
        constants[at] = found[at].reshape(len(at), -1)
        cost = weight[rows] * loss.by_row(found[node], y[rows])
        total = np.bincount(node, weight[rows], tree.n_nodes)
        losses[at] = (
            np.bincount(node, cost, tree.n_nodes) / np.where(total, total, 1)
        )[at]
    return constants, losses


CERTAIN_DIGITS = 13  # after the first, of a sum of two numbers
MANY_ROWS = 100_000  # are enough to be worked on at once


def rows_by_level(
    tree: "Tree", leaf: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield of each level, the deepest first, its rows and the nodes that they pass.

    Levels of few rows come several at once.
    """
    node, waiting = leaf.copy(), []
    for level in range(tree.depth, -1, -1):
        rows = np.flatnonzero(tree.level[node] == level)
        waiting.append((rows, node[rows]))
        node[rows] = tree.parent[node[rows]]
        if level == 0 or sum(len(own) for own, _ in waiting) > MANY_ROWS:
            own_rows, own_nodes = zip(*waiting)
            yield np.concatenate(own_rows), np.concatenate(own_nodes)
            waiting = []


def _neighbours(tree: "Tree", matrix, leaf):
    """Return what the rows leave free around each threshold, and its missing rows.

    The first is float64 (n_nodes, 2): of the rows that reach an axis split, the
    largest value at or below its threshold and the smallest above it. Any number
    between the two sends these rows the same way.
    """
    n = tree.n_nodes
    between = np.where(tree.feature[:, None] >= AXIS, [-np.inf, np.inf], np.nan)
    missing_rows = np.zeros(n, dtype=np.int64)
    for rows, node in rows_by_level(tree, leaf):
        axis = tree.feature[node] >= AXIS
        rows, node = rows[axis], node[axis]
        x = matrix[rows, tree.feature[node]]
        missing = np.isnan(x)
        missing_rows += np.bincount(node[missing], minlength=n)
        below, above = x <= tree.threshold[node], x > tree.threshold[node]
        np.maximum.at(between[:, 0], node[below], x[below])
        np.minimum.at(between[:, 1], node[above], x[above])
    return between, missing_rows


# Thresholds midway between the values that they separate.


def with_midpoint_thresholds(tree: "Tree") -> "Tree":
    """Move each threshold midway between the values that it separates at its node.

    These are ``tree.between``: of the training rows that reach the split, the largest
    value on the left and the smallest on the right. No training row changes sides; of
    other rows those do whose value lies in that gap. So CART sets its thresholds: in
    the unit of the column, as far as can be from the rows on both sides. Splits with no
    training row on one side, and oblique ones, stay as they are.
    """
    assert tree.between is not None  # as of every tree that saw its training rows
    low, high = tree.between.T
    movable = (tree.feature >= 0) & np.isfinite(low) & np.isfinite(high)
    middle = midpoint(np.where(movable, low, 0.0), np.where(movable, high, 1.0))
    return replace(tree, threshold=np.where(movable, middle, tree.threshold))


def midpoint(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return a number in [low, high) near the middle, where ``low < high``.

    Next to an infinite bound it is that bound.
    """
    with np.errstate(invalid="ignore"):
        middle = low + (high - low) / 2
    middle = np.where(np.isinf(low), low, middle)
    # Between neighbouring floats the middle may round up to high.
    return np.where((middle >= high) & np.isfinite(high), low, middle)


def complete_places(tree: "Tree") -> np.ndarray:
    """Return where each node stands in a complete tree, breadth first, (n_nodes,)."""
    place = np.zeros(tree.n_nodes, dtype=object)  # deep trees outgrow 64 bits
    for node in tree.splits:
        place[tree.left[node]] = 2 * place[node] + 1
        place[tree.right[node]] = 2 * place[node] + 2
    return np.minimum(place, 2**62).astype(np.int64)


def pad_nodes(array, n_fill: int, *, splits_first: bool):
    """Pad per-split rows with zeros for the leaves, or per-leaf rows for the splits."""
    if array is None:
        return None
    array = np.asarray(array, dtype=np.float64)
    array = array[:, None] if array.ndim == 1 else array
    zeros = np.zeros((n_fill, array.shape[1]))
    return np.concatenate([array, zeros] if splits_first else [zeros, array])


# Tree: the plain, immutable decision tree in which every learner ends.
#
# It predicts from the user's own table, in its columns and units: what is drawn is what
# predicts. It knows nothing of words, pictures, code or pruning; these take a Tree.


@dataclass(frozen=True, eq=False)
class Tree(Arrays):
    """A decision tree as plain, read-only arrays, one entry a node, the root first.

    A row goes left where the split holds: ``x <= threshold``, or for an oblique split
    ``sum_j weights_j * x_j <= threshold``.

    Parameters
    ----------
    features : tuple of Feature
        The numbers that splits may test, and the columns they are read from.
    left, right : int32 array of shape (n_nodes,)
        Children of each node; -1 at leaves.
    feature : int32 array of shape (n_nodes,)
        Index of the feature that a split tests; -1 at leaves, -2 at oblique splits.
    threshold : float64 array of shape (n_nodes,)
        In the column's unit (a category's score); NaN at leaves; may be infinite.
    missing_left : bool array of shape (n_nodes,)
        Whether a missing value goes left at a split that tests one feature.
    value : float64 array of shape (n_nodes, n_outputs)
        Prediction for a row that ends here: class probabilities, or one mean, or one
        for each of ``outputs``.
    n_rows : int64 array of shape (n_nodes,)
        Training rows that pass the node.
    impurity : float64 array of shape (n_nodes,)
        Gini impurity, or variance, of those rows; of several targets the mean of their
        variances as fractions of the root's; NaN where it is not known.
    classes : tuple or None
        Labels in the order of the columns of ``value``; None for regression.
    target, target_unit : str
        Name and unit of what is predicted.
    class_counts : float64 array of shape (n_nodes, n_classes) or None
        Training rows of each class that pass the node, or their weights where rows have
        any; never those of the classes.
    weights : float64 array of shape (n_nodes, n_features) or None
        Weights of oblique splits, in raw units; missing values count as the
        feature's ``fill``.
    leaf_weights, leaf_bias : float64 (n_nodes, n_features), (n_nodes, 1), or None
        Linear leaves predict ``leaf_bias + leaf_weights @ x``.
    activity : float64 array of shape (n_nodes,) or None
        Argmin trees: upper bound of a node's traversal, 0 once pruned.
    notes : tuple of str
        Sentences that a picture of this tree must show.
    between : float64 array of shape (n_nodes, 2) or None
        At splits that test one feature, of the training rows that reach them: the
        largest value at or below the threshold and the smallest above it. Words may
        round the threshold within these bounds.
    missing_rows : int64 array of shape (n_nodes,) or None
        Training rows that reach a split and miss the value it tests.
    target_form : CellForm or None
        How the target's cells of training rows were written, where it is known.
    decision : int32 array of shape (n_nodes,) or None
        Place in ``classes`` of the class that a row which ends here is predicted as;
        None: the most probable one.
    class_weights : float64 array of shape (n_classes,) or None
        Weight of a training row of each class where ``decision`` was made; None: 1.
    shrinkage : float or None
        Rows that the node above each node adds to its own where probabilities are
        made, see ``shrinkage``; None: they are fractions of the (weighted) rows.
    weight : float64 array of shape (n_nodes,) or None
        What the training rows that pass the node weigh together; None: 1 each.
    loss : Loss or None
        What values are the best constants for; None: class fractions, or means.
    interval : float64 array of shape (n_nodes, 2) or None
        Of regression: what a fraction ``interval_level`` of new rows that end here has
        at least and at most, less the prediction.
    interval_level : float or None
    outputs : tuple of str
        Names of the numbers that a regression tree predicts where these are several:
        targets, or the quantiles of one target (where ``loss`` has several levels).

    Raises
    ------
    ValueError
        If the arrays are not one tree: wrong shapes, circles, unknown features.
    """

    features: tuple[Feature, ...]
    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    value: np.ndarray
    n_rows: np.ndarray
    impurity: np.ndarray
    classes: tuple | None = None
    target: str = "target"
    target_unit: str = ""
    class_counts: np.ndarray | None = None
    weights: np.ndarray | None = None
    leaf_weights: np.ndarray | None = None
    leaf_bias: np.ndarray | None = None
    activity: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    between: np.ndarray | None = None
    missing_rows: np.ndarray | None = None
    target_form: CellForm | None = None
    decision: np.ndarray | None = None
    class_weights: np.ndarray | None = None
    shrinkage: float | None = None
    weight: np.ndarray | None = None
    loss: Loss | None = None
    interval: np.ndarray | None = None
    interval_level: float | None = None
    outputs: tuple[str, ...] = ()

    array_types: ClassVar[dict[str, type]] = {
        **dict.fromkeys(("left", "right", "feature", "decision"), np.int32),
        **dict.fromkeys(("n_rows", "missing_rows"), np.int64),
        **dict.fromkeys(("threshold", "value", "impurity", "class_counts"), np.float64),
        **dict.fromkeys(("weights", "leaf_weights", "leaf_bias"), np.float64),
        **dict.fromkeys(("activity", "between", "class_weights"), np.float64),
        **dict.fromkeys(("weight", "interval"), np.float64),
        "missing_left": np.bool_,
    }

    def __post_init__(self):
        object.__setattr__(self, "outputs", tuple(map(str, self.outputs)))
        super().__post_init__()

    def _faults(self) -> Iterator[tuple[Any, str]]:
        return faults(self)

    @classmethod
    def complete(
        cls,
        features,
        feature,
        threshold,
        missing_left,
        leaf_value,
        *,
        weights=None,
        leaf_weights=None,
        leaf_bias=None,
        **described,
    ) -> "Tree":
        """Build a tree from a complete one stored breadth first.

        Node ``t`` has the children ``2t + 1`` (left) and ``2t + 2`` (right), and the
        ``L`` leaves follow the ``N = L - 1`` splits. Node numbers stay. Rows are
        unknown until ``with_rows``; until then an internal node's value is the mean
        of the leaves below it.

        Parameters
        ----------
        features : sequence of Feature
        feature : int array of shape (N,) or None
            Feature of each split; -2 where it is oblique; None: all are oblique.
        threshold : float array of shape (N,)
        missing_left : bool array of shape (N,)
        leaf_value : float array of shape (L, n_outputs)
            Class probabilities, or values of the target, left to right.
        weights : float array of shape (N, n_features) or None
            Weights of oblique splits, in raw units.
        leaf_weights, leaf_bias : float arrays (L, n_features), (L, 1), or None
            Linear leaves.
        **described
            classes, target, target_unit, activity (N + L,) and notes, as in Tree.

        Raises
        ------
        ValueError
            If the lengths do not fit one complete tree.
        """
        leaf_value = np.asarray(leaf_value, dtype=np.float64)
        if leaf_value.ndim == 1:
            leaf_value = leaf_value[:, None]
        n_leaves = len(leaf_value)
        n_splits = n_leaves - 1
        if n_leaves & n_splits or n_leaves == 0:
            raise ValueError(
                f"A complete tree has 1, 2, 4, 8, ... leaves, got {n_leaves} leaf "
                "values."
            )
        feature = np.full(n_splits, OBLIQUE) if feature is None else feature
        given = {"feature": feature, "threshold": threshold}
        for name, array in {**given, "missing_left": missing_left}.items():
            if np.shape(array) != (n_splits,):
                raise ValueError(
                    f"{name} must have one entry for each of the {n_splits} splits "
                    f"above {n_leaves} leaves, got shape {np.shape(array)}."
                )
        values = [leaf_value]  # each level's, the deepest first
        while len(values[-1]) > 1:
            values.append((values[-1][0::2] + values[-1][1::2]) / 2)
        value = np.concatenate(values[::-1])
        split, none = np.arange(n_splits), np.full(n_leaves, -1)
        if leaf_bias is not None:
            # Above the leaves the constant model is the value.
            leaf_bias = pad_nodes(leaf_bias, n_splits, splits_first=False)
            leaf_bias[:n_splits] = value[:n_splits]
        return cls(
            features,
            left=np.concatenate([2 * split + 1, none]),
            right=np.concatenate([2 * split + 2, none]),
            feature=np.concatenate([feature, np.full(n_leaves, LEAF)]),
            threshold=np.concatenate([threshold, np.full(n_leaves, np.nan)]),
            missing_left=np.concatenate([missing_left, np.zeros(n_leaves, dtype=bool)]),
            value=value,
            n_rows=np.zeros(len(value), dtype=np.int64),
            impurity=np.full(len(value), np.nan),
            weights=pad_nodes(weights, n_leaves, splits_first=True),
            leaf_weights=pad_nodes(leaf_weights, n_splits, splits_first=False),
            leaf_bias=leaf_bias,
            **described,
        )

    @classmethod
    def unpack(cls, settings: dict, arrays: dict[str, np.ndarray]) -> "Tree":
        """Rebuild the tree that ``pack`` took apart; ValueError where it is none."""
        tree = super().unpack(settings, arrays)
        # While a tree is built its values may be unknown, but not once it is stored.
        proba = tree.classes is not None
        check_predictions("value", tree.value[tree.is_leaf], proba=proba)
        return tree

    def __repr__(self):
        return (
            f"Tree({self.task}, target={self.target!r}, "
            f"n_leaves={self.n_leaves}, depth={self.depth})"
        )

    def _repr_html_(self) -> str:
        """Return the interactive picture, which a notebook shows for the tree."""
        import treelab  # a tree knows no figure; the package's names are found late

        return treelab.notebook_html(self)

    # What it is

    @property
    def n_nodes(self) -> int:
        """Number of nodes, splits and leaves."""
        return len(self.left)

    @property
    def n_leaves(self) -> int:
        """Number of nodes that predict."""
        return int(self.is_leaf.sum())

    @property
    def n_splits(self) -> int:
        """Number of nodes that test."""
        return self.n_nodes - self.n_leaves

    @property
    def depth(self) -> int:
        """Splits on the longest path from the root to a leaf."""
        return int(self.level.max())

    @property
    def levels(self) -> tuple[float, ...]:
        """Levels of the quantiles that it predicts together; () for anything else."""
        return () if self.loss is None or not self.outputs else self.loss.levels

    @property
    def main_output(self) -> int:
        """Place of the output that is shown where there is room for one alone.

        It is the level nearest to the median, else the first target.
        """
        return 0 if self.loss is None else self.loss.middle

    @property
    def output_columns(self) -> list[str]:
        """Names of the columns that hold its predictions, one for each output."""
        if self.levels or not self.outputs:
            return [*self.outputs] or ["prediction"]
        return [f"prediction of {name}" for name in self.outputs]

    def of_output(self, output: int | str) -> "Tree":
        """Return the tree that predicts one of several outputs, with the same splits.

        Its nodes have rows, but the impurity of one target alone is not known.
        """
        if isinstance(output, str) and output not in self.outputs:
            if not self.outputs:
                raise ValueError(f"The tree has one output: leave {output!r} out.")
            names = " and ".join(map(repr, self.outputs))
            raise ValueError(f"The tree predicts {names}, not {output!r}.")
        place = self.outputs.index(output) if isinstance(output, str) else output
        return replace(
            self,
            value=self.value[:, [place]],
            outputs=(),
            target=self.target if self.levels else self.outputs[place],
            loss=None if self.loss is None else self.loss.of_output(place),
            impurity=self.impurity if self.levels else np.full(self.n_nodes, np.nan),
        )

    @property
    def interval_fraction(self) -> float | None:
        """Fraction of new rows that ``predict_interval`` shall hold; None: it has none.

        Of several quantiles it is that between the lowest and the highest level.
        """
        if self.levels:
            return round(self.levels[-1] - self.levels[0], 9)
        return self.interval_level

    @cached_property
    def is_leaf(self) -> np.ndarray:
        """Whether each node is a leaf, bool (n_nodes,)."""
        return frozen(self.left < 0)

    @cached_property
    def parent(self) -> np.ndarray:
        """Node above each node, int32 (n_nodes,); -1 at the root."""
        parent = np.full(self.n_nodes, -1, dtype=np.int32)
        splits = np.flatnonzero(~self.is_leaf)
        parent[self.left[splits]] = parent[self.right[splits]] = splits
        return frozen(parent)

    @cached_property
    def level(self) -> np.ndarray:
        """Distance of each node from the root, int32 (n_nodes,)."""
        level = np.zeros(self.n_nodes, dtype=np.int32)
        here = np.array([0])
        while len(here := here[~self.is_leaf[here]]):
            level[self.left[here]] = level[self.right[here]] = level[here] + 1
            here = np.concatenate([self.left[here], self.right[here]])
        return frozen(level)

    @cached_property
    def depth_first(self) -> np.ndarray:
        """The nodes, int64 (n_nodes,), each before what is below it, left first."""
        order, waiting = [], [0]
        while waiting:
            order.append(waiting.pop())
            if self.left[order[-1]] >= 0:
                waiting += [int(self.right[order[-1]]), int(self.left[order[-1]])]
        return frozen(np.array(order))

    @cached_property
    def splits(self) -> np.ndarray:
        """The nodes that test, int64 (n_splits,), each before those below it."""
        return frozen(self.depth_first[~self.is_leaf[self.depth_first]])

    @property
    def mass(self) -> np.ndarray:
        """What each node's rows count for, (n_nodes,): their weights, or 1 each."""
        return self.n_rows if self.weight is None else self.weight

    @cached_property
    def predicted_class(self) -> np.ndarray:
        """Place in ``classes`` of the class that each node predicts, (n_nodes,)."""
        chosen = self.value.argmax(axis=1) if self.decision is None else self.decision
        return frozen(chosen.astype(np.int64))

    @property
    def read(self) -> np.ndarray:
        """Indices of the features that splits and linear leaves read, ascending."""
        return used_features(self, leaves=True)

    @cached_property
    def missing_columns(self) -> frozenset[str]:
        """Columns that training rows lacked at a split that tests them."""
        if self.missing_rows is None:
            return frozenset()
        tested = self.feature[(self.missing_rows > 0) & (self.feature >= AXIS)]
        return frozenset(self.features[j].column for j in tested)

    # What it does to rows

    def apply(self, X) -> np.ndarray:
        """Return the leaf, int64 (n_rows,), that each row of the table ``X`` reaches.

        Raises
        ------
        ValueError
            If a column that the tree reads is absent, or holds text for numbers.
        """
        return leaf_of(self, read_features(self, X))

    def decision_path(self, X) -> np.ndarray:
        """Return which nodes each row passes, bool (n_rows, n_nodes)."""
        leaf = self.apply(X)
        passed = np.zeros((len(leaf), self.n_nodes), dtype=bool)
        for rows, node in rows_by_level(self, leaf):
            passed[rows, node] = True
        return passed

    def margin(self, X) -> np.ndarray:
        """Return threshold - value at each node, float64 (n_rows, n_nodes).

        Left is where the margin is at least 0; a missing value at a split that tests
        one feature gives +inf or -inf, leaves have NaN.
        """
        return margins(self, read_features(self, X))

    def path(self, row) -> list[int]:
        """Return the nodes, root to leaf, of the one row of the table ``row``."""
        leaf = self.apply(row)
        if len(leaf) != 1:
            raise ValueError(f"path follows one row, got a table of {len(leaf)} rows.")
        return self.path_to(int(leaf[0]))

    def path_to(self, node: int) -> list[int]:
        """Return the nodes from the root to ``node``, both included."""
        self.check_node(node)
        nodes = [int(node)]
        while nodes[-1]:
            nodes.append(int(self.parent[nodes[-1]]))
        return nodes[::-1]

    def check_node(self, node: int) -> None:
        """Raise ValueError unless the tree has this node."""
        if not 0 <= node < self.n_nodes:
            raise ValueError(f"The tree has nodes 0 to {self.n_nodes - 1}, not {node}.")

    def node_counts(self, X, y=None) -> np.ndarray:
        """Count the rows of any table that pass each node.

        Returns
        -------
        int64 array of shape (n_nodes,), or (n_nodes, n_classes) where the labels ``y``
        are given
        """
        leaf = self.apply(X)
        if y is None:
            return rows_through(self, leaf)
        if self.classes is None:
            raise ValueError(
                "y can only be counted by class; this tree is a regression."
            )
        codes = check_target(self, len(leaf), y)
        return rows_through(self, leaf, codes, len(self.classes))

    def with_rows(self, X, y, sample_weight=None) -> "Tree":
        """Return the tree with rows, impurity and means taken from these rows.

        Predictions stay: values of leaves do not change. Values of internal nodes
        become the class probabilities, or the mean (of another loss than the squared
        error its best constant), of the rows that pass (unchanged
        where none does, and where probabilities were shrunk). The first rows given, the
        training rows, also set ``between`` and ``missing_rows``, so that words stay the
        same whatever rows come after. ``sample_weight`` (n_rows,) is above 0.
        """
        matrix = read_features(self, X)
        leaf = leaf_of(self, matrix)
        y = check_target(self, len(leaf), y)
        return with_leaves(self, matrix, leaf, y, sample_weight)

    def predict_proba(self, X) -> np.ndarray:
        """Return class probabilities, float64 (n_rows, n_classes), as in ``classes``.

        Raises
        ------
        ValueError
            If this is a regression tree.
        """
        if self.classes is None:
            raise ValueError("A regression tree has no class probabilities.")
        return self.value[self.apply(X)]

    def predict(self, X) -> np.ndarray:
        """Return each row's class, or value of the target; (n_rows,).

        The class is the leaf's most probable one unless it has a ``decision``. Where
        there are several ``outputs`` the values are (n_rows, n_outputs).
        """
        if self.classes is not None:
            return labels(self.classes)[self.predicted_class[self.apply(X)]]
        matrix = read_features(self, X, leaves=True)
        return regression_values(self, matrix)

    def predict_interval(self, X) -> np.ndarray:
        """Return between which values most rows lie, float64 (n_rows, 2).

        A fraction ``interval_level`` of rows that are new has a target between the two
        of its row, as far as folds of the training rows could tell. Of several
        quantiles they are the lowest and the highest, as the training rows have them.

        Raises
        ------
        ValueError
            If the tree knows no interval.
        """
        if self.interval_fraction is None:
            raise ValueError(
                "A tree of several targets knows no interval; predict one of them."
                if self.outputs
                else "This tree knows no interval."
            )
        matrix = read_features(self, X, leaves=True)
        predicted = regression_values(self, matrix)
        if self.interval is None:
            return predicted[:, [0, -1]]
        return self.ends(leaf_of(self, matrix), predicted)

    def ends(self, node: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        """Ends (n, 2) of the intervals of nodes (n,) around what they predict (n,).

        They are sums, rounded to their certain digits, so that an end at which many
        rows lie, as counts do at 0, is that number; of a loss of positive values they
        are at least 0.
        """
        assert self.interval is not None
        center, off = predicted[:, None], self.interval[node]
        size = np.maximum(abs(center), abs(off))
        magnitude = np.floor(np.log10(np.where(size > 0, size, 1.0)))
        factor = 10.0 ** (CERTAIN_DIGITS - magnitude)
        ends = np.round((center + off) * factor) / factor
        is_positive = self.loss is not None and self.loss.is_positive
        return np.maximum(ends, 0.0) if is_positive else ends


PER_NODE = tuple(name for name in Tree.array_types if name != "class_weights")
