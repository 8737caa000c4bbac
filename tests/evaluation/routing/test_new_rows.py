"""A table that a tree has never seen."""

import numpy as np
import pandas as pd
import pytest

from tests.figures.small_trees import stump_and_more
from treelab import CartRegressor
from treelab.evaluation.routing import rows_for_model


def test_only_what_the_tree_reads_is_needed_in_any_order():
    tree, X, _ = stump_and_more()
    frame = X[["texture", "radius"]].assign(other="x")
    rows = rows_for_model(tree, frame, "new.csv")
    assert tree.apply(rows).tolist() == tree.apply(X).tolist()


def test_an_absent_column_is_named():
    tree, X, _ = stump_and_more()
    with pytest.raises(ValueError, match=r"new\.csv .* 2 columns.*'texture' is absent"):
        rows_for_model(tree, X[["radius"]], "new.csv")


def test_columns_of_the_table_are_named_as_it_has_them():
    X = pd.DataFrame({"day": pd.date_range("2021-01-01", periods=40)})
    X["size"], column = np.arange(40.0), "weekday of day"
    wide = X.assign(**{column: X["day"].dt.day_of_week + 1})
    tree = CartRegressor(tune=False).fit(wide, wide[column] + X["size"]).tree_
    with pytest.raises(ValueError, match=r"absent\. The table has 'day'\.$"):
        rows_for_model(tree, X[["day"]], "new.csv")


def test_text_for_a_number_is_named_with_its_row():
    tree, X, _ = stump_and_more()
    frame = X.assign(radius=["1", "big"] + ["2"] * 38)
    with pytest.raises(
        ValueError, match=r"new\.csv: Column 'radius' holds 'big' in row 2"
    ):
        rows_for_model(tree, frame, "new.csv")
    frame = X.assign(radius=pd.Series(["7", None] + ["2"] * 38))
    assert rows_for_model(tree, frame, "new.csv")["radius"][:1].tolist() == [7.0]
