"""The tables that come with treelab, with no file and no network."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pandas as pd

from treelab.data import synthetic_tables

IRIS_UNITS = {
    f"{organ} {side}": "cm"
    for organ in ("sepal", "petal")
    for side in ("length", "width")
}
DIABETES_COLUMNS = {
    "age": "age",
    "sex": "sex",
    "bmi": "body mass index",
    "bp": "blood pressure",
    "s1": "total cholesterol",
    "s2": "LDL",
    "s3": "HDL",
    "s4": "cholesterol ratio",
    "s5": "log triglycerides",
    "s6": "blood sugar",
}
DIABETES_UNITS = {
    "age": "years",
    "body mass index": "kg/m²",
    "blood pressure": "mmHg",
    "total cholesterol": "mg/dl",
    "LDL": "mg/dl",
    "HDL": "mg/dl",
    "blood sugar": "mg/dl",
}


@dataclass(frozen=True)
class BuiltinTable:
    """A table that comes with treelab."""

    # For code and for people.
    key: str
    title: str
    target: str  # the column that is usually predicted
    task: str  # "binary", "multiclass" or "regression"
    about: str  # one sentence on rows and target
    # Returns the table, a new DataFrame each time; the target is the last column.
    load: Callable[[], pd.DataFrame]
    units: Mapping[str, str] = field(default_factory=dict)


def _breast_cancer() -> pd.DataFrame:
    """Load the Wisconsin table of cell nuclei, its diagnosis in words."""
    from sklearn.datasets import load_breast_cancer

    return _with_words(load_breast_cancer(as_frame=True), "diagnosis")


def _wine() -> pd.DataFrame:
    """Load the table of Italian wines, its cultivars numbered from 1."""
    from sklearn.datasets import load_wine

    bunch = load_wine(as_frame=True)
    frame = bunch.data.rename(columns=lambda name: name.replace("_", " "))
    return frame.assign(cultivar="cultivar " + (bunch.target + 1).astype("str"))


def _iris() -> pd.DataFrame:
    """Load the table of irises, its unit taken out of the columns' names."""
    from sklearn.datasets import load_iris

    frame = _with_words(load_iris(as_frame=True), "species")
    return frame.rename(columns=lambda name: name.removesuffix(" (cm)"))


def _diabetes() -> pd.DataFrame:
    """Load the table of diabetes patients, unscaled and with full names."""
    from sklearn.datasets import load_diabetes

    bunch = load_diabetes(as_frame=True, scaled=False)
    frame = bunch.data.rename(columns=DIABETES_COLUMNS)
    return frame.assign(progression=bunch.target)


def _digits() -> pd.DataFrame:
    """Load the table of handwritten digits, its pixels named by row and column."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    names = [f"row {i + 1} column {j + 1}" for i in range(8) for j in range(8)]
    return pd.DataFrame(bunch.data, columns=names).assign(digit=bunch.target)


def _with_words(bunch, target: str) -> pd.DataFrame:
    """Return scikit-learn's table with its classes by name."""
    names = pd.Series(bunch.target_names, dtype="str")
    return bunch.data.assign(**{target: bunch.target.map(names).astype("str")})


BUILTIN: dict[str, BuiltinTable] = {
    table.key: table
    for table in (
        BuiltinTable(
            "breast_cancer",
            "Breast cancer",
            "diagnosis",
            "binary",
            "Cell nuclei from 569 samples of breast tissue: malignant or benign?",
            _breast_cancer,
        ),
        BuiltinTable(
            "wine",
            "Wine",
            "cultivar",
            "multiclass",
            "Chemical analysis of 178 wines: from which of three cultivars?",
            _wine,
            {"alcohol": "% vol"},
        ),
        BuiltinTable(
            "iris",
            "Iris",
            "species",
            "multiclass",
            "Measurements of 150 flowers: which of three species?",
            _iris,
            IRIS_UNITS,
        ),
        BuiltinTable(
            "diabetes",
            "Diabetes",
            "progression",
            "regression",
            "Ten measurements of 442 patients: how far is the disease a year later?",
            _diabetes,
            DIABETES_UNITS,
        ),
        BuiltinTable(
            "digits",
            "Digits",
            "digit",
            "multiclass",
            "Images of 1,797 handwritten digits, 8 by 8 pixels: which digit?",
            _digits,
        ),
        BuiltinTable(
            "greedy_trap",
            "Greedy trap",
            "bar",
            "binary",
            "Synthetic, made to be hard for greedy trees: 1,500 steel bars that crack "
            "by a rule of two columns, neither of which predicts anything alone.",
            synthetic_tables.greedy_trap,
            synthetic_tables.TRAP_UNITS,
        ),
        BuiltinTable(
            "mixed",
            "Library members",
            "renews",
            "binary",
            "Synthetic: 1,200 members with numbers, categories and missing values; "
            "who renews?",
            synthetic_tables.library_members,
            synthetic_tables.MEMBER_UNITS,
        ),
    )
}
