"""Python functions that exported code carries along."""

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
    "_text": '''
def _text(value):
    """Return a category as text; None where it is missing."""
    return None if _missing(value) else str(value)
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


def needed_helpers(body: str) -> list[str]:
    """Return the source of the helpers that a source calls, each above its callers."""
    helpers: list[str] = []
    for name in reversed(HELPERS):  # a helper may need one above it
        if f"{name}(" in body:
            helpers.insert(0, HELPERS[name].strip("\n"))
            body += HELPERS[name]
    return helpers
