"""Trees and ensembles as Python."""

from collections import Counter
from collections.abc import Collection
from math import inf

import numpy as np

from treelab.trees.cells import DAYS
from treelab.trees.code.writer import (
    FAR_BELOW,
    YEARS,
    CategoryTest,
    Exported,
    Input,
    NestedWriter,
    NumberTest,
    Term,
    as_written,
    category_measure,
    heading,
    inputs,
    scores_of,
    source_of,
)
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.tree import Tree, as_matrix

# Python functions that exported code carries along.


READERS = {
    "number": "_number",
    "date": "_year",
    "duration": "_days",
    "category": "_text",
}
HELPERS = {
    "_missing": '''
def _missing(value):
    """Tell whether a value is None, NaN, or pandas' NA or NaT."""
    kind = type(value).__name__
    return value is None or kind in ("NAType", "NaTType") or value != value
''',
    "_number": '''
def _number(value):
    """Return a value as float, a time of day in hours; NaN where it is missing."""
    if type(value).__name__ == "time":
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        return (seconds * 10**6 + value.microsecond) / 3_600_000_000
    return nan if _missing(value) else float(value)
''',
    "_days": '''
def _days(value):
    """Return a duration in days, and a number of them as it is; NaN if missing."""
    if isinstance(value, timedelta) or type(value).__name__ == "timedelta64":
        value = value / timedelta(days=1)
    return nan if _missing(value) else float(value)
''',
    "_year": '''
def _year(value):
    """Return a date as years with decimals, and these as they are; NaN if missing."""
    if _missing(value):
        return nan
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return float(value)
    if moment.tzinfo:
        moment = moment.astimezone(timezone.utc).replace(tzinfo=None)
    length = timedelta(days=365 + isleap(moment.year))
    return moment.year + (moment - datetime(moment.year, 1, 1)) / length
''',
    "_code": '''
def _code(value, missing, column):
    """Return text that writes a number as that number, and any other value as it is."""
    if not isinstance(value, str):
        return value
    if value in missing:
        return None
    try:
        return int(value) if value.isdecimal() else float(value)
    except ValueError:
        raise ValueError(f"Column {column!r} held numbers, not {value!r}.") from None
''',
    "_stripped": '''
def _stripped(value):
    """Return text without the spaces around it, and any other value as it is."""
    return value.strip() if isinstance(value, str) else value
''',
    "_no_text": '''
def _no_text(value, column):
    """Return a value that is no text, in which 1.234 may be 1234."""
    if isinstance(value, str):
        raise ValueError(f"Column {column!r} had decimal commas: {value!r} is text.")
    return value
''',
    "_unless": '''
def _unless(value, low, high):
    """Return a number; NaN where it lies from low to high, which counts as missing."""
    return nan if low <= value <= high else value
''',
    "_text": '''
def _text(value):
    """Return a category as text, or a number as it is; None where it is missing."""
    if _missing(value):
        return None
    if hasattr(value, "__float__") and not isinstance(value, str):
        return value
    is_moment = hasattr(value, "date")  # of which midnight is the day
    return str(value).removesuffix(" 00:00:00" * is_moment)
''',
    "_filled": '''
def _filled(value, fill):
    """Return a number, or what stands for it where it is missing."""
    return fill if isnan(value) else value
''',
    "_known": '''
def _known(value, column):
    """Return a number; the tree has none to put in its place."""
    if isnan(value):
        raise ValueError(f"Column {column!r} is missing, and nothing stands for it.")
    return value
''',
}
PREDICT_CLASS = '''def predict(row):
    """Return the most probable of CLASSES for one row."""
    probabilities = predict_proba(row)
    return CLASSES[probabilities.index(max(probabilities))]'''
# Where the class is kept apart from the probabilities.
OF_LEAF = '''def predict_proba(row):
    """Return the probability of each of CLASSES for one row."""
    return _leaf(row)[1]


def predict(row):
    """Return the predicted one of CLASSES for one row."""
    return CLASSES[_leaf(row)[0]]'''
WEIGHTED_CLASS = '''def predict(row):
    """Return the one of CLASSES with the largest weighted probability for one row."""
    found = predict_proba(row)
    weighted = [sum(p * w for p, w in zip(found, own)) for own in _CLASS_WEIGHTS]
    return CLASSES[weighted.index(max(weighted))]'''


def category_keys(known: Collection[str]) -> dict[str, list]:
    """Return what is each category in Python: its text, and the number that it means.

    True, 1 and 1.0 are one key of a set there, as they are one category of a feature.
    Of several categories that mean a number it is the one written as Python does.
    """
    numbers = {category: _number_of(category) for category in known}
    times = Counter(numbers.values())
    return {
        category: [category]
        if number is None or (times[number] > 1 and str(number) != category)
        else [category, number]
        for category, number in numbers.items()
    }


def _keyed(missing: float, scores: dict[str, float]) -> dict:
    """Return the number that a missing value, None, and each category stand for."""
    keys = category_keys(scores)
    entries: dict = {None: missing}
    for category, score in scores.items():
        entries |= dict.fromkeys(keys[category], score)
    return entries


def _number_of(category: str) -> float | None:
    """Return the number, or the truth, that a category means; None of a word."""
    if category in ("True", "False"):
        return category == "True"
    for kind in (int, float):  # whole numbers have more digits than a float
        try:
            number = kind(category)
        except ValueError:
            continue
        return number if -inf < number < inf else None
    return None


def reading(source: Input) -> str:
    """Write how a row's column is read."""
    kind = "date" if source.unit == YEARS else source.kind
    cell = f"row[{source.column!r}]"
    form, name = source.form, source.column
    if kind == "number" and form is not None and form.unit == DAYS:
        kind = "duration"
    if form is not None and form.kind == "number" and form.decimal == ",":
        cell = f"_no_text({cell}, {name!r})"
    elif form is not None and kind == "category":
        cell = f"_stripped({cell})"
        if form.kind == "number":
            cell = f"_code({cell}, {form.held!r}, {name!r})"
        elif category_measure(source) == YEARS:
            cell = f"_year({cell})"
    read = f"{READERS[kind]}({cell})"
    if source.missing_range is None:
        return read
    low, high = source.missing_range
    return f"_unless({read}, {low!r}, {high!r})"


def _module(
    model: Tree | WeightedTrees,
    math: tuple[str, ...],
    constants: list[str],
    tables: list[str],
    functions: list[str],
) -> str:
    """Write a module: what is imported, what is constant, helpers, functions.

    ``math`` are names of that module, imported where any text has them.
    """
    body, helpers = "\n".join([*functions, *tables]), list[str]()
    for name in reversed(HELPERS):  # a helper may need one above it
        if f"{name}(" in body:
            helpers.insert(0, HELPERS[name].strip("\n"))
            body += HELPERS[name]
    imports = []
    if "_year(" in body:
        imports = [
            "from calendar import isleap",
            "from datetime import datetime, timedelta, timezone",
        ]
    elif "_days(" in body:
        imports = ["from datetime import timedelta"]
    if needed := [name for name in math if name in body]:
        imports.append(f"from math import {', '.join(needed)}")
    top = [f"# {line}" for line in heading(model, inputs(model))]
    top += ["", *imports] if imports else []
    if model.classes is not None:
        top += ["", f"CLASSES = {tuple(model.classes)!r}"]
    top += constants
    for table in tables:
        top += ["", table]
    return "\n\n\n".join(["\n".join(top), *helpers, *functions]) + "\n"


# An ensemble as a Python module that needs nothing but the standard library.


def ensemble_to_python(model: WeightedTrees) -> str:
    """Write an ensemble as ``to_python`` writes a tree."""
    used = model.read.tolist()
    functions = [_features(model, used), _LEAF, _WEIGHTS[model.weighting]]
    if model.n_deciding < model.n_estimators:
        limit = _LIMIT.format(limit=model.n_deciding, low=FAR_BELOW)
        functions += [limit, _LIMITED_MEAN]
    else:
        functions.append(_MEAN)
    constants = []
    if model.classes is None:
        functions.append(_PREDICT)
    else:
        is_single = model.leaf_value.shape[2] == 1
        logits = _ONE_LOGIT if is_single else _LOGITS
        is_mean = model.leaf_output == "probabilities"
        functions.append(_PROBABILITIES if is_mean else logits)
        functions.append(
            PREDICT_CLASS if model.class_weights is None else WEIGHTED_CLASS
        )
    if model.class_weights is not None:
        weights = as_matrix(model.class_weights).T.tolist()  # a list a predicted class
        constants.append(f"_CLASS_WEIGHTS = {weights!r}")
    tables = "\n".join([*_scores(model, used), *_trees(model, used)])
    math = ("exp", "inf", "isnan", "nan", "sqrt")  # one too many does no harm
    return _module(model, math, constants, [tables], functions)


def _features(model: WeightedTrees, used: list[int]) -> str:
    """Write the function that reads a row."""
    read = inputs(model)
    lines = ["def _features(row):", '    """Return the numbers that splits test."""']
    names = {source: f"column_{i}" for i, source in enumerate(read)}
    for source, name in names.items():
        lines.append(f"    {name} = {reading(source)}")
    values = []
    for j in used:
        feature = model.features[j]
        name = names[source_of(feature)]
        scored = f"_SCORES_{j}.get({name}, {feature.unseen!r})"
        values.append(name if feature.kind == "number" else scored)
    return "\n".join([*lines, f"    return [{', '.join(values)}]"])


def _scores(model: WeightedTrees, used: list[int]) -> list[str]:
    """Write the number of each category."""
    lines = []
    for j in used:
        feature = model.features[j]
        if feature.kind != "number":
            scores = _keyed(float("nan"), scores_of(feature))
            lines.append(f"_SCORES_{j} = {scores!r}")
    return lines


def _trees(model: WeightedTrees, used: list[int]) -> list[str]:
    """Write each tree as four lists: what it tests, where it goes, what it holds."""
    lines = [
        "# Of each tree (feature, threshold, whether missing values go left) of its",
        "# splits, breadth first, and (weight, values) of its leaves, left to right.",
        "_TREES = [",
    ]
    place = np.searchsorted(used, model.feature)
    for e in range(model.n_estimators):
        splits = zip(
            place[e].tolist(),
            model.threshold[e].tolist(),
            model.missing_left[e].tolist(),
        )
        leaves = zip(model.leaf_weight[e].tolist(), model.leaf_value[e].tolist())
        lines.append(f"    ({list(splits)!r}, {list(leaves)!r}),")
    return [*lines, "]"]


_LEAF = '''def _leaf(x, splits, leaves):
    """Return the weight and the values of the leaf that a row reaches in a tree."""
    node = 0
    while node < len(splits):
        feature, threshold, missing_left = splits[node]
        left = missing_left if isnan(x[feature]) else x[feature] <= threshold
        node = 2 * node + (1 if left else 2)
    return leaves[node - len(splits)]'''
_WEIGHTS = {
    "softmax": '''def _weights(scores):
    """Return the trees' weights, a softmax up to a factor."""
    top = max(scores)
    return [exp(score - top) for score in scores]''',
    "entmax15": '''def _weights(scores):
    """Return the trees' weights, a 1.5-entmax: (score / 2 - tau) squared, or 0."""
    half = sorted((score / 2 for score in scores), reverse=True)
    total = squares = 0.0
    tau = half[0] - 1
    for k, score in enumerate(half, start=1):  # of the k largest
        total += score - half[0]
        squares += (score - half[0]) ** 2
        room = (1 - squares + total * total / k) / k
        if room < 0:
            break
        found = half[0] + total / k - sqrt(room)
        if found > score:
            break
        tau = found
    return [max(score / 2 - tau, 0.0) ** 2 for score in scores]''',
}
_MEAN = '''def _mean(row):
    """Return the weighted mean of the values that a row reaches."""
    x = _features(row)
    reached = [_leaf(x, *tree) for tree in _TREES]
    weights = _weights([weight for weight, _ in reached])
    total = sum(weights)
    columns = zip(*(values for _, values in reached))
    return [
        sum(weight * value for weight, value in zip(weights, column)) / total
        for column in columns
    ]'''
_LIMIT = '''def _limited(scores):
    """Return the scores; all but the {limit} highest so low that they weigh nothing."""
    last = sorted(scores)[-{limit}]
    return [{low} if score < last else score for score in scores]'''
_LIMITED_MEAN = _MEAN.replace(
    "_weights([weight for weight, _ in reached])",
    "_weights(_limited([weight for weight, _ in reached]))",
)
_PREDICT = '''def predict(row):
    """Return the value for one row."""
    return _mean(row)[0]'''
_PROBABILITIES = '''def predict_proba(row):
    """Return the probability of each of CLASSES for one row."""
    return tuple(_mean(row))'''
_LOGITS = '''def predict_proba(row):
    """Return the probability of each of CLASSES for one row."""
    logits = _mean(row)
    raised = [exp(logit - max(logits)) for logit in logits]
    return tuple(each / sum(raised) for each in raised)'''
_ONE_LOGIT = _LOGITS.replace("_mean(row)", "[0.0, *_mean(row)]")


# A tree as a Python function that needs nothing but the standard library.


def to_python(tree: Exported) -> str:
    """Write a tree, or an ensemble, as Python source.

    Parameters
    ----------
    tree : Tree, WeightedTrees, PruningPath or Forest

    Returns
    -------
    str
        A module with ``predict(row)`` and, for classes, ``CLASSES`` and
        ``predict_proba(row)``; of several outputs it returns one number for each of
        ``OUTPUTS``. A row is a dict, or any record that is indexed by column names;
        None, NaN and pandas' NA are missing values, dates are of a type of dates, ISO
        8601 text or years with decimals, durations of a type of durations or days, and
        times of day of a type of times or hours. It predicts as ``tree.predict`` does,
        and raises ValueError where that does; an ensemble's probabilities and values
        are equal up to rounding.
    """
    model = as_written(tree)
    if isinstance(model, WeightedTrees):
        return ensemble_to_python(model)
    return _Module(model).text()


class _Module(NestedWriter):
    """The source of one tree."""

    opening, otherwise, closing, remark = "if {}:", "else:", None, "  # {}"

    def text(self) -> str:
        """Write the module."""
        tree = self.tree
        functions = [
            "\n".join([f"def _branch_{root}({self._arguments()}):", *self.body(root)])
            for root in self.function_roots()
            if root
        ]
        functions.append("\n".join(self._main()))
        if tree.classes is not None:
            functions.append(PREDICT_CLASS if tree.decision is None else OF_LEAF)
        tables = ["\n".join(lines) for lines in self.scores.values()]
        constants = ["", f"OUTPUTS = {tree.outputs!r}"] if tree.outputs else []
        return _module(tree, ("inf", "isnan", "nan"), constants, tables, functions)

    def _main(self) -> list[str]:
        """Write the function that reads a row."""
        name, what = "predict_proba", "the probability of each of CLASSES for one row"
        if self.tree.decision is not None:
            name, what = "_leaf", "the place of the class, and the probabilities"
        elif self.tree.classes is None:
            of = "the value of each of OUTPUTS" if self.tree.outputs else "the value"
            name, what = "predict", f"{of} for one row"
        lines = [f"def {name}(row):", f'    """Return {what}."""']
        for source, name in self.names.items():
            lines.append(f"    {name} = {reading(source)}")
        return [*lines, *self.body(0)]

    def _arguments(self) -> str:
        """Name what a branch is called with: everything that was read."""
        return ", ".join(self.names.values())

    def call(self, node: int) -> str:
        return f"return _branch_{node}({self._arguments()})"

    def number(self, value: float) -> str:
        return repr(value)

    def several(self, leaf: int) -> str:
        return repr(tuple(self.tree.value[leaf].tolist()))

    def number_test(self, test: NumberTest) -> str:
        name = self.names[test.source]
        condition = f"{name} <= {test.threshold!r}"
        return f"{condition} or isnan({name})" if test.missing_left else condition

    def category_test(self, test: CategoryTest) -> str:
        name = self.names[test.source]
        missing_listed = test.missing_left == test.inside
        of = category_keys(test.known)
        keys = [repr(key) for category in test.listed for key in of[category]]
        listed = [*keys, *(["None"] if missing_listed else [])]
        # "in ()" is never true, and {} would be a dict.
        group = f"{{{', '.join(listed)}}}" if listed else "()"
        return f"{name} {'in' if test.inside else 'not in'} {group}"

    def class_prediction(self, leaf: int) -> str:
        own = tuple(self.tree.value[leaf].tolist())
        if self.tree.decision is None:
            return repr(own)
        return repr((int(self.tree.decision[leaf]), own))

    def value(self, term: Term) -> str:
        """Write a term's number."""
        name = self.names[term.source]
        if term.scores is not None:
            name = f"{self._table(term)}.get({name}, {term.unseen!r})"
            if not term.may_fail:
                return name
        if term.may_fail:
            return f"_known({name}, {term.source.column!r})"
        return f"_filled({name}, {term.fill!r})"

    def _table(self, term: Term) -> str:
        """Name the table of a category column's scores, which goes to the top."""
        table = f"_SCORES_{term.index}"
        entries = _keyed(term.fill, term.scores or {})
        rows = [f"    {category!r}: {score!r}," for category, score in entries.items()]
        self.scores[term.index] = [f"{table} = {{", *rows, "}"]
        return table
