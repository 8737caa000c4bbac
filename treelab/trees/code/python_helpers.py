"""Python functions that exported code carries along."""

from math import isfinite

from treelab.trees.code.splits import Input

READERS = {"number": "_number", "category": "_text"}
HELPERS = {
    "_missing": '''
def _missing(value):
    """Tell whether a value is None, NaN, or pandas' NA or NaT."""
    kind = type(value).__name__
    return value is None or kind in ("NAType", "NaTType") or value != value
''',
    "_number": '''
def _number(value):
    """Return a value as float; NaN where it is missing."""
    return nan if _missing(value) else float(value)
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
    is_number = hasattr(value, "__float__") and not isinstance(value, str)
    return value if is_number else str(value)
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
    weighted = [each * own for each, own in zip(predict_proba(row), _CLASS_WEIGHTS)]
    return CLASSES[weighted.index(max(weighted))]'''


def category_keys(category: str) -> list:
    """Return what is the category in Python: its text, and the number that it writes.

    True, 1 and 1.0 are one key of a set there, as they are one category of a feature.
    """
    if category in ("True", "False"):
        return [category, category == "True"]
    for kind in (int, float):
        try:
            number = kind(category)
        except ValueError:
            continue
        if str(number) == category and isfinite(number):
            return [category, number]
    return [category]


def reading(source: Input) -> str:
    """Write how a row's column is read."""
    read = f"{READERS[source.kind]}(row[{source.column!r}])"
    if source.missing_range is None:
        return read
    low, high = source.missing_range
    return f"_unless({read}, {low!r}, {high!r})"


def needed_helpers(body: str) -> list[str]:
    """Return the source of the helpers that a source calls, each above its callers."""
    helpers: list[str] = []
    for name in reversed(HELPERS):  # a helper may need one above it
        if f"{name}(" in body:
            helpers.insert(0, HELPERS[name].strip("\n"))
            body += HELPERS[name]
    return helpers
