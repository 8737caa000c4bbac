"""Exported SQL predicts in real databases as the tree does, NULL and NaN included."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from tests.trees.code.edges import INF, NAN, edge_rows
from tests.trees.code.engines import DuckDb, PostgreSql, Sqlite
from tests.trees.code.test_code import AWKWARD, KINDS, chain, stump
from tests.trees.make import make_features, make_tree
from treelab.trees.cells import CellForm
from treelab.trees.code import to_sql
from treelab.trees.dates import decimal_years
from treelab.trees.feature import Feature
from treelab.trees.tree import Tree


def columns_of(table: pd.DataFrame, kind: str = "double") -> dict:
    """The columns of a table as an engine takes them."""
    return {
        name: ("text" if name == "job" else kind, table[name].tolist())
        for name in table
    }


def same(found: list, wanted: np.ndarray) -> bool:
    """Whether all predictions are equal; NaN is equal to NaN, and NULL in SQLite."""
    if wanted.dtype.kind != "f":
        return found == wanted.tolist()
    numbers = np.array([NAN if each is None else each for each in found], dtype=float)
    return np.array_equal(numbers, wanted, equal_nan=True)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # infinity minus infinity
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_any_tree_predicts_alike_on_null_nan_infinity_and_beside_thresholds(
    kind, seed, engine
):
    rng = np.random.default_rng(seed)
    tree = make_tree(rng, 16, **KINDS[kind], infinite=0.1)
    table = edge_rows(tree, rng)
    found = engine.select(to_sql(tree), columns_of(table))
    assert same(found, tree.predict(table))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_fifty_trees_more_predict_alike(kind, engine):
    for seed in range(100, 150):
        rng = np.random.default_rng(seed)
        tree = make_tree(rng, int(rng.integers(1, 60)), **KINDS[kind], infinite=0.1)
        table = edge_rows(tree, rng)
        found = engine.select(to_sql(tree), columns_of(table))
        assert same(found, tree.predict(table)), seed


@pytest.mark.parametrize("seed", range(3))
def test_a_tree_of_many_levels_does_so_where_it_is_a_list_of_leaves(seed, engine):
    rng = np.random.default_rng(seed)
    tree = make_tree(rng, 120, infinite=0.1)
    assert tree.depth > 9
    table = edge_rows(tree, rng)
    assert same(engine.select(to_sql(tree), columns_of(table)), tree.predict(table))
    for missing_left in (False, True):
        deep = chain(rng.normal(size=60), missing_left)
        rows = pd.DataFrame({"x": table["width"]})
        found = engine.select(to_sql(deep), columns_of(rows))
        assert same(found, deep.predict(rows))


@pytest.mark.parametrize("missing_left", [False, True])
@pytest.mark.parametrize("threshold", [-INF, -1.5, 0.0, 0.1, 2.0**53, -(2.0**60), INF])
def test_one_split_sends_each_kind_of_cell_to_its_side(threshold, missing_left, engine):
    tree = stump(Feature("x"), threshold, missing_left=[missing_left] * 3)
    cells = [None, NAN, INF, -INF, 0.0, -0.0, 0.1, 1e308, -1.7e308, 2.0**53, -(2.0**60)]
    if np.isfinite(threshold):
        cells += [
            threshold,
            np.nextafter(threshold, INF),
            np.nextafter(threshold, -INF),
        ]
    cells = [cell if cell is None else float(cell) for cell in cells]
    found = engine.select(to_sql(tree), {"x": ("double", cells)})
    wanted = tree.predict(pd.DataFrame({"x": cells}, dtype=float))
    assert found == wanted.tolist()


@pytest.mark.parametrize("missing_left", [False, True])
def test_a_column_of_single_precision_is_compared_in_double(missing_left, engine):
    rng = np.random.default_rng(0)
    thresholds = [0.1, 0.7, *rng.uniform(-9, 9, 30), *rng.normal(size=30).round(2)]
    tree = chain(np.unique(thresholds), missing_left)
    cells = np.array([*thresholds, INF, -INF, NAN], dtype=np.float32)
    # SQLite keeps them in double precision, too.
    found = engine.select(to_sql(tree), {"x": ("float", [None, *map(float, cells)])})
    wanted = tree.predict(pd.DataFrame({"x": np.array([np.nan, *cells], np.float32)}))
    assert same(found, wanted)


@pytest.mark.parametrize("missing_left", [False, True])
def test_whole_numbers_are_rounded_as_the_tree_reads_them(missing_left, engine):
    large = [2**53 - 1, 2**53, 2**53 + 1, 2**53 + 3, 2**62 + 1, 2**63 - 1, -(2**63)]
    small = [0, 1, -1, 2, 255, -32768]
    thresholds = [0.5, 1.0, -0.5, 2.0**53, 2.0**53 + 4, 2.0**62, -(2.0**62)]
    tree = chain(thresholds, missing_left)
    found = engine.select(to_sql(tree), {"x": ("whole", [None, *small, *large])})
    cells = pd.DataFrame({"x": pd.array([None, *small, *large], dtype="Int64")})
    assert same(found, tree.predict(cells))


@pytest.mark.parametrize("missing_left", [False, True])
def test_decimal_numbers_are_read_as_the_nearest_double(missing_left, engine):
    texts = ["0.1", "0.3", "0.1000000001", "-2.5", "12345.6789", "1e12", "0.7"]
    tree = chain([0.1, 0.3, 12345.6789, -2.5, 0.7], missing_left)
    cells = [None, *map(Decimal, texts)]
    given = [
        float(c) if c is not None and isinstance(engine, Sqlite) else c for c in cells
    ]
    found = engine.select(to_sql(tree), {"x": ("decimal", given)})
    known = [np.nan if cell is None else float(cell) for cell in cells]
    assert same(found, tree.predict(pd.DataFrame({"x": known})))


def test_nan_of_a_decimal_column_is_missing_in_postgresql(postgresql):
    for missing_left in (False, True):
        tree = chain([0.5, 2.0], missing_left)
        given = [None, Decimal("NaN"), Decimal(1), Decimal(3)]
        found = PostgreSql(postgresql).select(to_sql(tree), {"x": ("decimal", given)})
        cells = pd.DataFrame({"x": [np.nan, np.nan, 1.0, 3.0]})
        assert same(found, tree.predict(cells))


# What SQLite's shell imports from a file of text is text, in columns of any type.
@pytest.mark.parametrize("column", ["text", "double", "whole", "decimal", "none"])
@pytest.mark.parametrize("missing_left", [False, True])
def test_text_in_sqlite_is_a_number_where_it_is_one_and_missing_else(
    column, missing_left
):
    tree = chain([-5.0, 0.5, 9.0, 11.0], missing_left)
    cells = ["", "12", "9.50", "100", "-7", "0", " ", "abc", "12 kg", "-20 kg", None, 3]
    found = Sqlite().select(to_sql(tree), {"x": (column, cells)})
    known = [NAN, 12, 9.5, 100, -7, 0, NAN, NAN, NAN, NAN, NAN, 3]
    assert same(found, tree.predict(pd.DataFrame({"x": known})))


@pytest.mark.parametrize("missing_left", [False, True])
def test_text_that_is_no_number_is_an_error_elsewhere(missing_left, postgresql):
    tree = stump(Feature("x"), 0.5, missing_left=[missing_left] * 3)
    for engine in (DuckDb(), PostgreSql(postgresql)):
        with pytest.raises(Exception, match=r"(?i)compare|operator|function"):
            engine.select(to_sql(tree), {"x": ("text", ["abc", "", "1"])})


def test_missing_numbers_and_categories_in_weighted_sums_are_filled(engine):
    features = make_features(np.random.default_rng(3))
    tree = Tree.complete(
        features,
        None,
        [0.3],
        [False],
        [[1.0], [2.0]],
        weights=[[1.5, -0.7, 0.1, 0.3, 0.1]],
        leaf_weights=[[0.1, 0.2, 0.3, 0.4, 0.5], [0, 0, 0, 0.3, 0]],
        leaf_bias=[[0.1], [0.2]],
    )
    cells = [None, NAN, 0.3, -1.0, 7.0]
    jobs = [None, "Sales", "Tech", "Astronaut"]
    table = pd.DataFrame(
        [(a, b, c, job) for a in cells for b in cells for c in cells for job in jobs],
        columns=["width", "age", "bmi", "job"],
        dtype=object,
    )
    found = engine.select(to_sql(tree), columns_of(table))
    assert same(found, tree.predict(table))


@pytest.mark.parametrize("cell", [None, NAN])
def test_no_prediction_is_made_up_where_nothing_stands_for_a_missing_value(
    cell, engine
):
    tree = stump(Feature("x"), feature=[-2, -1, -1], weights=[[2.0], [0.0], [0.0]])
    found = engine.select(to_sql(tree), {"x": ("double", [cell, 0.0, 3.0])})
    assert found == [None, "no", "yes"]


def test_the_expression_counts_groups_and_filters(engine):
    tree = stump(Feature("x"), missing_left=[True] * 3)
    cells = {"x": ("double", [NAN, None, 0.0, 1.0, INF])}
    group = f"GROUP BY ({to_sql(tree)}) ORDER BY 1"
    assert engine.select("count(*)", cells, group) == [2, 3]
    where = f"WHERE ({to_sql(tree)}) = 'yes'"
    assert engine.select("count(*)", cells, where) == [2]


@pytest.mark.parametrize(
    ("names", "said"), [(("Red", "red"), "rename Red or red"), (("Red", "blue"), "")]
)
def test_names_that_differ_by_case_alone_are_warned_of(names, said):
    """DuckDB renames the second to red_1, and "red" is then the first."""
    features = [Feature(name) for name in names]
    feature = np.where((shape := chain([0.0, 1.0])).left < 0, -1, [0, 0, 1, 0, 0])
    found = to_sql(replace(shape, features=features, feature=feature))
    assert ("differ by case alone" in found) == bool(said)
    assert said in found


def test_a_column_is_warned_of_whose_twin_the_tree_does_not_read():
    features = [Feature("Red"), Feature("red")]
    shape = chain([0.0, 1.0])
    feature = np.where(shape.left < 0, -1, 1)  # DuckDB would take "Red" for it
    found = to_sql(replace(shape, features=features, feature=feature))
    assert "rename Red or red" in found


def test_names_and_categories_of_any_letters(engine):
    rng = np.random.default_rng(0)
    names = [name for name in AWKWARD if name]
    scores = np.arange(len(AWKWARD), dtype=float)
    features = [Feature(name) for name in names]
    features += [
        Feature(f"{name} kind", "category", fill=1, categories=AWKWARD, scores=scores)
        for name in names
    ]
    shape = chain(rng.normal(size=2 * len(names)))
    tree = replace(
        shape,
        features=features,
        feature=np.where(shape.left < 0, -1, np.arange(shape.n_nodes) // 2),
        classes=AWKWARD,
        value=rng.dirichlet(np.ones(len(AWKWARD)), size=shape.n_nodes),
    )
    numbers = {name: [*rng.normal(size=60).tolist(), None, NAN] for name in names}
    kinds = [*AWKWARD, "new", "SAY", None]
    texts = {
        f"{name} kind": [kinds[i] for i in rng.integers(len(kinds), size=62)]
        for name in names
    }
    columns = {name: ("double", cells) for name, cells in numbers.items()}
    columns |= {name: ("text", cells) for name, cells in texts.items()}
    table = pd.DataFrame(numbers | texts, dtype=object)
    assert same(engine.select(to_sql(tree), columns), tree.predict(table))


@pytest.mark.parametrize("missing_left", [False, True])
@pytest.mark.parametrize("unseen", [0.0, 1.0])
@pytest.mark.parametrize("kind", ["double", "whole", "text"])
def test_nan_among_categories_that_are_numbers_is_missing(
    kind, unseen, missing_left, engine
):
    grade = Feature(
        *("grade", "category"),
        categories=("1", "2", "3"),
        scores=(0.0, 1.0, 0.0),
        unseen=unseen,
        fill=1.0,
    )
    cells = [1, 2, 3, 4, None, *([NAN] if kind == "double" else [])]
    cells = [str(cell) if kind == "text" and cell else cell for cell in cells]
    split = stump(grade, 0.5, missing_left=[missing_left] * 3)
    total = stump(grade, 0.5, feature=[-2, -1, -1], weights=[[1.0], [0.0], [0.0]])
    for tree in (split, total):
        found = engine.select(to_sql(tree), {"grade": (kind, cells)})
        assert same(found, tree.predict(pd.DataFrame({"grade": cells}, dtype=object)))


@pytest.mark.parametrize("missing_left", [False, True])
@pytest.mark.parametrize("levels", [("False", "True"), ("true", "false"), ("True",)])
@pytest.mark.parametrize("kind", ["flag", "text"])
def test_true_and_false_are_known_whatever_a_database_makes_of_them(
    kind, levels, missing_left, engine
):
    scores = tuple(range(len(levels)))
    flag = Feature(
        "flag", "category", categories=levels, scores=scores, unseen=1.0, fill=0.0
    )
    cells = [True, False, None]
    cells = [
        str(cell) if kind == "text" and cell is not None else cell for cell in cells
    ]
    split = stump(flag, 0.5, missing_left=[missing_left] * 3)
    total = stump(flag, 0.5, feature=[-2, -1, -1], weights=[[1.0], [0.0], [0.0]])
    for tree in (split, total):
        found = engine.select(to_sql(tree), {"flag": (kind, cells)})
        assert same(found, tree.predict(pd.DataFrame({"flag": cells}, dtype=object)))


@pytest.mark.parametrize("missing_left", [False, True])
@pytest.mark.parametrize("kind", ["day", "moment"])
def test_dates_are_compared_as_dates(kind, missing_left, engine):
    rng = np.random.default_rng(0)
    moments = pd.Timestamp("2022-01-28") + pd.to_timedelta(
        rng.integers(0, 86_400_000, 300), "ms"
    ) * rng.choice([0.0, 1.0, 7.0], 300)
    moments = moments.floor("D" if kind == "day" else "ms")
    years = decimal_years(pd.Series(moments)).to_numpy()
    halves = (years + rng.permutation(years)) / 2
    day = Feature("on", form=CellForm("date", date="ISO8601"))
    separators = " T" if isinstance(engine, Sqlite) else " "
    for threshold in [*years[:8], *halves[:8], 2022.0, 2023.0, INF, -INF]:
        tree = stump(day, threshold, missing_left=[missing_left] * 3)
        for separator in separators:
            texts = [str(each).replace(" 00:00:00", "") for each in moments]
            cells = [*(each.replace(" ", separator) for each in texts), None]
            found = engine.select(to_sql(tree), {"on": (kind, cells)})
            table = pd.DataFrame({"on": pd.Series(cells, dtype=object)})
            assert found == tree.predict(table).tolist(), threshold


def test_a_date_where_a_sum_reads_years_is_not_missing_in_sqlite():
    day = Feature("on", form=CellForm("date", date="ISO8601"), fill=2000.0)
    sums = {"feature": [-2, -1, -1], "weights": [[0.5], [0.0], [0.0]]}
    tree = stump(day, 1010.0, **sums)
    cells = [2019.5, 2020.5, None, "2020-07-01"]
    found = Sqlite().select(to_sql(tree), {"on": ("none", cells)})
    assert found == ["no", "yes", "no", None]


def test_what_is_no_date_in_a_column_of_dates_is_missing_in_sqlite():
    day = Feature("on", form=CellForm("date", date="ISO8601"))
    cells = ["2019-06-01", 2019.1, "31/01/2019", "unknown", "", 1546300800]
    for missing_left in (False, True):
        tree = stump(day, 2019.5, missing_left=[missing_left] * 3)
        found = Sqlite().select(to_sql(tree), {"on": ("none", cells)})
        assert found == ["no", *["no" if missing_left else "yes"] * 5]


def test_a_part_of_a_date_is_a_column_like_others(engine):
    tree = stump(Feature("month of admitted"), 6.5, missing_left=[True] * 3)
    dates = pd.DataFrame({"admitted": ["2020-03-01", "2020-11-30", None]})
    found = engine.select(to_sql(tree), {"month of admitted": ("whole", [3, 11, None])})
    assert found == tree.predict(dates).tolist() == ["no", "yes", "no"]


def test_an_infinite_number_in_a_sum_is_refused_in_a_sentence():
    job = Feature("job", "category", fill=0, categories=("a",), scores=(INF,))
    tree = stump(job, feature=[-2, -1, -1], weights=[[2.0], [0.0], [0.0]])
    with pytest.raises(ValueError, match="an infinite number, which SQL cannot"):
        to_sql(tree)
