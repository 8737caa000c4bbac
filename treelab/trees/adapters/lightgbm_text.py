"""LightGBM's boosted trees, read from its text file, with no need for LightGBM itself.

Source: the model's format, in src/boosting/gbdt_model_text.cpp and src/io/tree.cpp of
LightGBM, and how it predicts, in include/LightGBM/tree.h; written against version 4.7.

treelite 4.8 reads these files, too, but a damaged one ends the process, zeros that
count as missing are read wrongly without a word, and names of categories are lost.
"""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from treelab.trees.adapters.forest import (
    Columns,
    Forest,
    alone,
    boosted_forest,
    check_columns,
    column_names,
    given_categories,
    known_classes,
    refuse_wrapped,
    refusing_other,
    tree_arguments,
    used_rounds,
    with_means,
)
from treelab.trees.io import MOST_BYTES, read_regular_file
from treelab.trees.tree import LEAF, Tree
from treelab.trees.words import listed

_LINKS = {
    **dict.fromkeys(("binary", "cross_entropy"), "logistic"),
    "multiclass": "softmax",
    **dict.fromkeys(("regression", "regression_l1", "huber", "fair"), "identity"),
    **dict.fromkeys(("quantile", "mape"), "identity"),
    **dict.fromkeys(("poisson", "gamma", "tweedie"), "exp"),
}
_NEAR_ZERO = float(np.float32(1e-35))  # what lies within is a zero, as LightGBM has it
_IS_CATEGORY, _DEFAULT_LEFT = 1, 2  # bits of a split's decision_type
_ZERO = 1  # of bits 2 and 3: zeros count as missing; 0: nothing does; 2: NaN does
_OF_SPLITS = ("left_child", "right_child", "split_feature", "decision_type")


@refusing_other("a text file of LightGBM", "model.txt")
def from_lightgbm(
    model,
    feature_names=None,
    *,
    classes=None,
    categories: dict | None = None,
    iteration_range: tuple[int, int] | None = None,
    target: str = "target",
    units: dict | None = None,
) -> Tree | Forest:
    """Read a model of LightGBM.

    A Forest adds up as LightGBM does, in float64 and to the last bit, but for random
    forests and a ``sigmoid`` other than 1, whose leaves are scaled first.

    Parameters
    ----------
    model : str, Path, bytes, or a model of LightGBM
        A text file of ``save_model``, or what it holds as bytes. LightGBM itself saves,
        and reads, only the rounds up to the best where early stopping found one.
    feature_names : sequence of str or None
        Columns in the order of training; by default those in the file, in which
        LightGBM writes "_" for a space.
    classes : sequence or None
        Labels in the order of LightGBM's numbers; by default those of a
        scikit-learn estimator, else 0, 1, ...
    categories : dict of str to sequence, or None
        Names of a category column's categories, in the order of their codes; by
        default those in the file, else the codes as text. Needed where the file does
        not tell which columns its categories belong to.
    iteration_range : tuple of (int, int) or None, default=None
        First round that predicts, and the one behind the last; 0 is behind them all.
        None: all of the file.
    target : str, default="target"
    units : dict of str to str or None
        Unit of each column that has one.

    Returns
    -------
    Tree or Forest
        One tree that predicts alone, or the trees of margins that are added up.

    Raises
    ------
    ValueError
        If its objective or its linear trees are not read, or it is damaged.
    """
    refuse_wrapped(model)
    if classes is None:
        classes = getattr(model, "classes_", None)
    text = _text(model)
    head, *blocks = re.split(
        r"^Tree=\d+$", text.partition("end of trees")[0], flags=re.M
    )
    if not blocks:
        raise ValueError("This LightGBM model holds no tree.")
    facts = _fields(head)
    objective, *settings = facts.get("objective", "custom").split()
    if objective not in _LINKS or "sqrt" in settings:
        named = " ".join([objective, *settings])
        raise ValueError(
            f"treelab does not read LightGBM's objective {named!r}; it reads "
            f"{', '.join(_LINKS)}."
        )
    link = _LINKS[objective]
    n_outputs = int(facts["num_tree_per_iteration"])
    if not 1 <= n_outputs <= len(blocks) or (n_outputs > 1) != (link == "softmax"):
        raise ValueError(
            f"This LightGBM model has {n_outputs:,} trees a round, which its objective "
            "has not: it is damaged."
        )
    n_rounds, rest = divmod(len(blocks), n_outputs)
    if rest:
        raise ValueError(
            f"This LightGBM model has {len(blocks):,} trees, and its rounds have "
            f"{n_outputs:,}: it is damaged."
        )
    first, end = used_rounds(n_rounds, iteration_range, f" of {n_outputs:,} trees")
    blocks = blocks[first * n_outputs : end * n_outputs]
    columns, notes = _columns(text, facts, feature_names, categories or {}, units or {})
    scale = 1.0
    if "average_output" in head.split():
        scale = n_outputs / len(blocks)
    for setting in settings:
        name, _, value = setting.partition(":")
        scale *= float(value) if name == "sigmoid" else 1.0
    grown = [_tree(_fields(block), columns, scale) for block in blocks]
    n_classes = {"binary": 2, "multiclass": n_outputs}.get(objective, 0)
    forest = boosted_forest(
        grown,
        columns.features,
        target=target,
        classes=known_classes(classes, n_classes),
        base=(0.0,) * n_outputs,
        output=[i % n_outputs for i in range(len(grown))],
        link=link,
        dtype="float64",
        notes=notes,
    )
    return alone(forest)


def _text(model) -> str:
    """Return what the file holds."""
    if hasattr(model, "booster_"):
        model = model.booster_
    if hasattr(model, "model_to_string"):
        return model.model_to_string()
    if isinstance(model, str | Path):
        model = read_regular_file(Path(model), MOST_BYTES)
    if not isinstance(model, bytes) or not model.startswith(b"tree"):
        raise ValueError(
            "This is not a text file of LightGBM. Write one with "
            "booster.save_model('model.txt')."
        )
    return model.decode()


def _fields(block: str) -> dict[str, str]:
    """Return the lines "name=value" of a block."""
    lines = (line.partition("=") for line in block.splitlines())
    return {name: value for name, sign, value in lines if sign}


def _columns(
    text: str, facts: dict, feature_names, categories: dict, units: dict
) -> tuple["_Columns", tuple[str, ...]]:
    """Return the features that the trees share, and what is not sure of them."""
    stored = facts["feature_names"].split()
    if len(stored) != int(facts["max_feature_idx"]) + 1:
        raise ValueError("This LightGBM model lacks names of columns: it is damaged.")
    names = column_names(feature_names, stored)
    check_columns(len(names), "LightGBM")
    known = given_categories(categories, names)
    notes: tuple[str, ...] = ()
    if not known or not known.keys() >= {*_columns_of_codes(facts)}:
        stored_ones, notes = _stored_categories(text, facts, names)
        known = stored_ones | known
    return _Columns(names, units, known), notes


def _columns_of_codes(facts: dict) -> list[int]:
    """Return the places of columns that hold codes of categories.

    A number has its range in brackets, a category column the codes 3:0:1, and a column
    with one value nothing.
    """
    ranges = enumerate(facts["feature_infos"].split())
    return [i for i, held in ranges if ":" in held and held[0] != "["]


def _stored_categories(
    text: str, facts: dict, names: list[str]
) -> tuple[dict[int, list[str]], tuple[str, ...]]:
    """Return the names of pandas' categories, by column, and a note where unsure."""
    found = re.search(r"^pandas_categorical:(.*)$", text, flags=re.M)
    stored = json.loads(found[1]) if found else None
    if not stored:
        return {}, ()
    ranges, columns = facts["feature_infos"].split(), _columns_of_codes(facts)
    most = max(map(len, stored))
    unsure = any(
        _may_be_codes(r, most) for i, r in enumerate(ranges) if i not in columns
    )
    if len(columns) != len(stored):
        raise ValueError(
            f"pandas' categories of {len(stored)} columns are in this LightGBM model, "
            f"but {len(columns)} columns of codes, so whose they are is not known. "
            "Pass categories={column: [...]}, in the order of the training table's "
            "categories, for each such column."
        )
    notes: tuple[str, ...] = ()
    if unsure:
        notes = (
            "A LightGBM file does not tell which columns its categories belong to; "
            f"they are taken for those of {listed([names[i] for i in columns])}. If "
            "a category column had an order in pandas, pass "
            "categories={column: [...]}.",
        )
    return {i: [str(v) for v in of] for i, of in zip(columns, stored)}, notes


def _may_be_codes(values: str, most: int) -> bool:
    """Tell whether a column of numbers, or of one value, may hold categories' codes."""
    if values == "none":
        return True
    low, _, high = values.strip("[]").partition(":")
    return low == "0" and high.isdecimal() and int(high) < most


class _Columns(Columns):
    """Features that LightGBM's splits test."""

    def __init__(self, names: list[str], units: dict, categories: dict):
        super().__init__(names, units, categories)
        self._numbers: dict[int, int] = {}  # of columns whose zeros are missing

    def number(self, column: int, *, zero_is_missing: bool) -> int:
        """Return the feature of a split of numbers, or of codes that have an order."""
        if not zero_is_missing:
            return column
        if column not in self._numbers:
            feature = self.features[column]
            if feature.categories:
                feature = replace(feature, scores=(np.nan, *feature.scores[1:]))
            else:
                near = (-_NEAR_ZERO, _NEAR_ZERO)
                feature = replace(feature, missing_range=near)
            self._numbers[column] = len(self.features)
            self.features.append(feature)
        return self._numbers[column]


def _tree(fields: dict[str, str], columns: _Columns, scale: float) -> dict:
    """Return the arguments of ``Tree`` for one of its trees; leaves follow splits."""
    if fields.get("is_linear", "0") != "0":
        raise ValueError("This LightGBM model has linear trees, which are not read.")
    n_leaves = int(fields["num_leaves"])
    n_splits = n_leaves - 1
    values = _array(fields, "leaf_value", float, n_leaves) * scale
    if not n_splits:  # LightGBM writes nothing else of a single leaf
        fields = {**fields, **dict.fromkeys(_OF_SPLITS, ""), "leaf_count": "0"}
    left, right, column, decision = (
        _array(fields, name, int, n_splits) for name in _OF_SPLITS
    )
    if not all(0 <= j < len(columns.names) for j in column):
        raise ValueError("A split of this LightGBM model tests no column of it.")
    threshold = (
        _array(fields, "threshold", float, n_splits) if n_splits else np.zeros(0)
    )
    feature = np.full(n_splits, LEAF)
    missing_left = np.zeros(n_splits, dtype=bool)
    left, right = (np.where(side < 0, n_splits + ~side, side) for side in (left, right))
    for i in range(n_splits):
        missing = decision[i] >> 2 & 3
        if decision[i] & _IS_CATEGORY:
            # What is in the set goes right here: missing and unknown go left.
            codes = _codes(fields, int(threshold[i]))
            left[i], right[i] = right[i], left[i]
            feature[i], threshold[i] = columns.index(int(column[i]), codes), 0.5
            missing_left[i] = True
            continue
        feature[i] = columns.number(int(column[i]), zero_is_missing=missing == _ZERO)
        # Where nothing counts as missing, NaN is read as 0.
        to_left = bool(decision[i] & _DEFAULT_LEFT) if missing else threshold[i] >= 0
        missing_left[i] = to_left
    counts = np.zeros(n_splits + n_leaves, dtype=np.int64)
    if "leaf_count" in fields and "internal_count" in fields:
        counts[:n_splits] = _array(fields, "internal_count", int, n_splits)
        counts[n_splits:] = _array(fields, "leaf_count", int, n_leaves)
    left, right, feature, threshold, missing_left = (
        np.append(own, np.full(n_leaves, -1, own.dtype))
        for own in (left, right, feature, threshold, missing_left)
    )
    value = with_means(np.append(np.zeros(n_splits), values), left, right, counts)
    return tree_arguments(left, right, feature, threshold, missing_left, value, counts)


def _array(fields: dict[str, str], name: str, kind: type, size: int) -> np.ndarray:
    """Return the numbers of a line, checked to be as many as there should be."""
    found = [kind(word) for word in fields[name].split()]
    if len(found) != size:
        raise ValueError(
            f"A tree of this LightGBM model has {len(found):,} of {name}, not "
            f"{size:,}: it is damaged."
        )
    return np.array(found, dtype=np.float64 if kind is float else np.int64)


def _codes(fields: dict[str, str], split: int) -> frozenset[int]:
    """Return the codes of the set that a split of categories tests."""
    bounds = [int(word) for word in fields["cat_boundaries"].split()]
    words = fields["cat_threshold"].split()
    if split < 0 or not 0 <= bounds[split] <= bounds[split + 1] <= len(words):
        raise ValueError("This LightGBM model's sets of categories are damaged.")
    bits = np.array([int(word) for word in words[bounds[split] : bounds[split + 1]]])
    held = (bits[:, None] >> np.arange(32) & 1).ravel()
    return frozenset(np.flatnonzero(held).tolist())
