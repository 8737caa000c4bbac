"""Exported Python, SQL and C predict as the tree does, on every row."""

import ast
import datetime
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.slow_params import slow_after
from tests.trees.code.run import (
    c_predictions,
    check_all,
    needs_gcc,
    python_predictions,
    sql_predictions,
)
from tests.trees.make import make_table, make_tree
from treelab.data.builtin import BUILTIN
from treelab.learners.cart.estimators import CartClassifier, CartRegressor
from treelab.trees.cells import CellForm
from treelab.trees.code import LANGUAGES, to_c, to_python, to_sql
from treelab.trees.dates import decimal_years
from treelab.trees.feature import Feature
from treelab.trees.tree import Tree

KINDS = {
    "classes": {},
    "two classes": {"n_classes": 2},
    "numbers": {"n_classes": 0},
    "oblique": {"oblique": 0.6},
    "linear leaves": {"n_classes": 0, "linear": True, "oblique": 0.4},
}


def stump(tested: Feature, threshold=0.5, *, labels=("no", "yes"), **changes) -> Tree:
    """A tree of one split."""
    return Tree(
        **{
            "features": [tested],
            "left": [1, -1, -1],
            "right": [2, -1, -1],
            "feature": [0, -1, -1],
            "threshold": [threshold, np.nan, np.nan],
            "missing_left": [False] * 3,
            "value": [[0.5, 0.5], [1, 0], [0, 1]],
            "n_rows": [2, 1, 1],
            "impurity": [0.5, 0, 0],
            "classes": labels,
            **changes,
        }
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_random_trees_predict_alike_in_every_language(kind, seed, tmp_path):
    rng = np.random.default_rng(seed)
    tree = make_tree(rng, 14, **KINDS[kind])
    check_all(tree, make_table(rng, 300), tmp_path)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    n_leaves=st.integers(1, 40),
    kind=st.sampled_from(sorted(KINDS)),
)
def test_any_tree_predicts_alike_in_python_and_sql(seed, n_leaves, kind):
    rng = np.random.default_rng(seed)
    check_all(make_tree(rng, n_leaves, **KINDS[kind]), make_table(rng, 60))


@pytest.mark.slow
@pytest.mark.parametrize("key", slow_after(3, sorted(BUILTIN)))
def test_cart_on_every_built_in_table(key, tmp_path):
    table = BUILTIN[key]
    frame = table.load()
    X, y = frame.drop(columns=table.target), frame[table.target]
    cart = CartRegressor if table.task == "regression" else CartClassifier
    tree = cart(tune=False, random_state=0).fit(X, y).model_
    check_all(tree, X, tmp_path)


def test_rows_that_lie_exactly_on_a_threshold_or_beside_it(tmp_path):
    # Thresholds whose shortest text SQLite 3.40 reads as a neighbour come by often
    # enough among these to fail where they are written carelessly.
    thresholds = np.random.default_rng(0).uniform(-100, 100, size=4000)
    thresholds[:2] = -46.63701938585994, -0.0039649094424328
    for part in np.split(thresholds, 40):
        tree = chain(part)
        beside = [part, np.nextafter(part, np.inf), np.nextafter(part, -np.inf)]
        table = pd.DataFrame({"x": np.concatenate(beside)})
        check_all(tree, table, tmp_path if part[0] == thresholds[0] else None)


def chain(thresholds, missing_left=False) -> Tree:
    """A regression tree that asks one threshold after another, down to the right."""
    n = len(thresholds)
    thresholds = np.sort(thresholds)
    left, right = np.full(2 * n + 1, -1), np.full(2 * n + 1, -1)
    left[: 2 * n : 2], right[: 2 * n : 2] = range(1, 2 * n, 2), range(2, 2 * n + 1, 2)
    threshold = np.full(2 * n + 1, np.nan)
    threshold[: 2 * n : 2] = thresholds
    return Tree(
        features=[Feature("x")],
        left=left,
        right=right,
        feature=np.where(left < 0, -1, 0),
        threshold=threshold,
        missing_left=(left >= 0) & missing_left,
        value=np.arange(2 * n + 1.0)[:, None],
        n_rows=np.zeros(2 * n + 1),
        impurity=np.full(2 * n + 1, np.nan),
    )


@pytest.mark.parametrize("missing_left", [False, True])
def test_a_tree_hundreds_of_levels_deep_still_compiles(missing_left, tmp_path):
    tree = chain(np.arange(600.0), missing_left)
    table = pd.DataFrame({"x": [*np.arange(-1, 601, 0.5), np.nan]})
    check_all(tree, table, tmp_path)
    assert max(len(line) for line in to_sql(tree).split("\n")) < 250


AWKWARD = (
    'say "hi"',
    "it's",
    "two\nlines",
    "end */ of /* comment",
    "-- sql",
    "# hash",
    "C:\\path\\",
    "what??/",
    "🌳 tree",
    "ü & <b>",
    "class",
    "int",
    "row",
    "nan",
    "",
    "12",
    "שלום",
    "%s %d {x}",
    "'); DROP TABLE rows; --",
)


def test_no_name_however_odd_breaks_the_code(tmp_path):
    rng = np.random.default_rng(0)
    n = len(AWKWARD)
    scores = np.arange(n, dtype=float)
    features = [Feature(name, unit=name) for name in AWKWARD]
    features += [
        Feature(f"{name} kind", "category", fill=1, categories=AWKWARD, scores=scores)
        for name in AWKWARD
    ]
    weights = rng.normal(size=(4 * n + 1, 2 * n))
    tree = replace(
        chain(rng.normal(size=2 * n)),
        features=features,
        feature=np.where(
            chain(np.arange(2.0 * n)).left < 0, -1, np.arange(4 * n + 1) // 2
        ),
        target="*/ \"target\"\n'x'",
        target_unit="?\\\n",
        notes=("a note */\nimport os\\",),
    )
    tree = replace(
        tree, classes=AWKWARD, value=rng.dirichlet(np.ones(n), size=tree.n_nodes)
    )
    table = pd.DataFrame(
        {name: rng.normal(size=200) for name in AWKWARD}
        | {f"{name} kind": rng.choice([*AWKWARD, "new"], 200) for name in AWKWARD}
    ).astype({f"{name} kind": object for name in AWKWARD})
    check_all(tree, table.mask(rng.random(table.shape) < 0.1), tmp_path)
    filled = [replace(f, fill=0.0 if f.kind == "number" else f.fill) for f in features]
    oblique = replace(
        tree,
        features=filled,
        feature=np.where(tree.left < 0, -1, -2),
        weights=weights,
        threshold=np.where(tree.left < 0, np.nan, rng.normal(size=tree.n_nodes) * 99),
    )
    check_all(oblique, table.mask(rng.random(table.shape) < 0.1), tmp_path)


def test_a_name_that_a_language_cannot_write_is_refused_by_name():
    tree = stump(Feature("a\0b"))
    with pytest.raises(ValueError, match=r"'a\\x00b'.*Rename it"):
        to_sql(tree)
    category = Feature("kind", "category", categories=("a\0", "b"), scores=(0, 1))
    for write in (to_sql, to_c):
        with pytest.raises(ValueError, match=r"'a\\x00'.*Rename it"):
            write(stump(category))
    assert python_predictions(stump(category), pd.DataFrame({"kind": ["a\0"]})) == [
        "no"
    ]


@pytest.mark.parametrize(
    "labels", [(0, 1), (0.5, -1.5), (False, True), ("a", "b"), (1, "b")]
)
def test_labels_keep_their_type(labels):
    tree = stump(Feature("x"), labels=labels)
    table = pd.DataFrame({"x": [0.0, 1.0, np.nan]})
    wanted = [labels[0], labels[1], labels[1]]
    predicted = python_predictions(tree, table)
    assert predicted == wanted
    assert [type(label) for label in predicted] == [type(label) for label in wanted]
    mixed = len({type(label) for label in labels}) > 1
    assert sql_predictions(tree, table) == ([*map(str, wanted)] if mixed else wanted)


def test_infinite_values_and_thresholds(tmp_path):
    table = pd.DataFrame({"x": [-np.inf, -1e308, 0, 1e308, np.inf, np.nan]})
    for threshold in (-np.inf, -1.5, np.inf):
        for missing_left in (False, True):
            tree = stump(Feature("x"), threshold, missing_left=[missing_left] * 3)
            check_all(tree, table, tmp_path)


def unfilled(linear: bool) -> Tree:
    """An oblique tree, or a linear leaf, with nothing to stand for missing values."""
    tree = stump(Feature("x"), feature=[-2, -1, -1], weights=[[2.0], [0.0], [0.0]])
    if not linear:
        return tree
    return replace(
        tree,
        features=[Feature("x"), Feature("filled", fill=1.0)],
        weights=[[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]],
        classes=None,
        value=[[0.5], [1.0], [2.0]],
        leaf_weights=[[0.0, 0.0], [0.0, 0.0], [3.0, 0.0]],
        leaf_bias=[[0.5], [1.0], [2.0]],
    )


@pytest.mark.parametrize("linear", [False, True])
def test_where_nothing_stands_for_a_missing_value_no_prediction_is_made_up(
    linear, tmp_path
):
    tree = unfilled(linear)
    table = pd.DataFrame({"x": [np.nan], "filled": [7.0]})
    with pytest.raises(ValueError, match="'x' has missing values"):
        tree.predict(table)
    with pytest.raises(ValueError, match="'x' is missing"):
        python_predictions(tree, table)
    assert sql_predictions(tree, table) == [None]
    check_all(tree, table.fillna(3.0), tmp_path)


@needs_gcc
@pytest.mark.parametrize("linear", [False, True])
def test_c_shows_that_it_has_no_prediction(linear, tmp_path):
    table = pd.DataFrame({"x": [np.nan], "filled": [7.0]})
    (predicted,) = c_predictions(unfilled(linear), table, tmp_path)
    assert predicted is None if not linear else np.isnan(predicted)


def test_a_tree_of_one_leaf(tmp_path):
    tree = chain(np.arange(0.0))
    check_all(tree, pd.DataFrame({"x": [1.0, np.nan]}), tmp_path)
    classes = replace(tree, classes=("a",), value=[[1.0]])
    check_all(classes, pd.DataFrame({"x": [1.0, np.nan]}), tmp_path)


def test_probabilities_in_python_are_the_leafs():
    rng = np.random.default_rng(0)
    tree, table = make_tree(rng, 20), make_table(rng, 100)
    names = {}
    exec(to_python(tree), names)
    predicted = [names["predict_proba"](row) for row in table.to_dict("records")]
    assert np.array_equal(predicted, tree.predict_proba(table))
    assert names["CLASSES"] == tree.classes


def test_python_imports_math_alone():
    tree = make_tree(np.random.default_rng(0), 20, oblique=0.5)
    imports = [
        node
        for node in ast.walk(ast.parse(to_python(tree)))
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert [node.module for node in imports] == ["math"]


def test_python_takes_the_missing_values_of_pandas():
    tree = stump(Feature("x"), missing_left=[True] * 3)
    table = pd.DataFrame({"x": pd.array([0, 1, None], dtype="Int64")})
    assert python_predictions(tree, table) == ["no", "yes", "no"]


def test_python_takes_no_notice_of_spaces_around_a_category_of_a_file():
    job = Feature("x", "category", categories=("a", "b"), scores=(0, 1), unseen=1)
    rows = pd.DataFrame({"x": [" a", "a ", "b\t", "a"]})
    for form in (None, CellForm("category")):
        tree = stump(replace(job, form=form))
        assert python_predictions(tree, rows) == tree.predict(rows).tolist()


def test_python_reads_the_text_of_numbers_that_are_categories():
    form = CellForm(held=("?",))
    store = Feature("x", "category", "", 0, ("3", "4"), (0, 1), unseen=0, form=form)
    tree = stump(store, missing_left=[False] * 3)
    rows = pd.DataFrame({"x": ["3", "03.0", " 4", "4.0", "?", "5", None, 4.0]})
    assert python_predictions(tree, rows) == tree.predict(rows).tolist()
    with pytest.raises(ValueError, match="'x' held numbers, not '5 kg'"):
        python_predictions(tree, pd.DataFrame({"x": ["5 kg"]}))


def test_code_says_of_what_a_category_is_the_number_and_python_reads_dates():
    held = {"date": ("2020.5", CellForm("date", date="ISO8601"))}
    held |= {"hours": ("10.5", CellForm(unit="hours", times="h:mm"))}
    words = {"date": "years with decimals", "hours": "hours"}
    for name, (level, form) in held.items():
        day = Feature("x", "category", "", 0, (level, "7"), (0, 1), unseen=1, form=form)
        tree = stump(day)
        for write in (to_python, to_sql, to_c):
            assert f"x (category: numbers in {words[name]}, as text)" in write(tree)
    tree = stump(replace(day, categories=("2020.5", "7"), form=held["date"][1]))
    days = [
        datetime.date(2020, 7, 2),
        "2020-07-02",
        pd.Timestamp("2020-07-02"),
        2020.5,
        None,
    ]
    rows = pd.DataFrame({"x": [*days, datetime.date(2020, 7, 3)]}, dtype=object)
    expected = [tree.predict(rows[i : i + 1]).item() for i in range(len(rows))]
    assert expected == ["no"] * 4 + ["yes"] * 2
    assert python_predictions(tree, rows) == expected


def test_python_takes_no_time_of_day_for_a_duration():
    tree = stump(Feature("x", form=CellForm(unit="days")), 0.5)
    assert python_predictions(
        tree, pd.DataFrame({"x": [datetime.timedelta(hours=6)]})
    ) == ["no"]
    with pytest.raises(TypeError, match="time"):
        python_predictions(tree, pd.DataFrame({"x": [datetime.time(6)]}))


def test_python_reads_no_text_in_which_a_point_may_separate_thousands():
    tree = stump(Feature("x", form=CellForm(decimal=",", thousands=".")), 500.0)
    assert python_predictions(tree, pd.DataFrame({"x": [1234.0, 1.234]})) == [
        "yes",
        "no",
    ]
    with pytest.raises(ValueError, match=r"'x' had decimal commas: '1.234'"):
        python_predictions(tree, pd.DataFrame({"x": ["1.234"]}))


@pytest.mark.parametrize("weights", [None, [[0.5], [0.0], [0.0]]])
def test_python_takes_dates_as_the_tree_does(weights):
    day = Feature("on", form=CellForm("date", date="ISO8601"), fill=2020.2)
    texts = ["2020-01-31", "2020-06-30 23:59:59", "9999-12-31", "2024-12-31 12:30:45.6"]
    threshold = decimal_years(pd.Series(pd.to_datetime(texts[1:2]))).item()
    moments = [*map(pd.Timestamp, ("2020-06-30 23:59:59", "2020-07-01")), pd.NaT, None]
    greenwich = pd.Timestamp("2020-07-01 01:00", tz="Europe/Paris")
    cells = [*texts, *moments, moments[0].date(), moments[1].to_datetime64(), greenwich]
    feature = [0, -1, -1]
    if weights is not None:
        feature, threshold = [-2, -1, -1], threshold / 2
    tree = stump(day, threshold, feature=feature, weights=weights)
    for cell in cells:
        rows = pd.DataFrame({"on": pd.Series([cell], dtype=object)})
        assert python_predictions(tree, rows) == tree.predict(rows).tolist(), cell
    years = pd.DataFrame({"on": pd.Series([2020.4, "2020.4", 2020.6], dtype=object)})
    assert python_predictions(tree, years) == ["no", "no", "yes"]
    with pytest.raises(ValueError, match="31/01/2020"):
        python_predictions(tree, pd.DataFrame({"on": ["31/01/2020"]}))


@pytest.mark.parametrize("weights", [None, [[0.5], [0.0], [0.0]]])
def test_python_takes_durations_as_the_tree_does(weights):
    wait = Feature("wait", "number", "days", form=CellForm(unit="days"), fill=2.5)
    day = Feature("on", form=CellForm("date", date="ISO8601"), fill=2020.2)
    feature, threshold = [0, -1, -1], 2.0
    if weights is not None:
        feature, threshold = [-2, -1, -1], 1.0
        weights = [[*row, 0.0] for row in weights]
    features = [wait, day]
    tree = stump(wait, threshold, features=features, feature=feature, weights=weights)
    hours = [pd.Timedelta(hours=h) for h in (47, 48, 49)]
    others = [hours[0].to_pytimedelta(), hours[2].to_timedelta64(), pd.NaT, None, 1.5]
    for cell in [*hours, *others, np.timedelta64("NaT")]:
        rows = pd.DataFrame({"wait": pd.Series([cell], dtype=object), "on": 2020.0})
        assert python_predictions(tree, rows) == tree.predict(rows).tolist(), cell


def test_python_takes_times_of_day_as_the_tree_does():
    threshold = 7 + 1 / 3 + 1 / 3600
    tree = stump(Feature("at"), threshold)
    moments = ["07:20:00", "07:20:01", "07:20:01.000001", "00:00:00", "23:59:59.9"]
    cells = [*map(datetime.time.fromisoformat, moments), None, 7.5]
    for cell in cells:
        rows = pd.DataFrame({"at": pd.Series([cell], dtype=object)})
        assert python_predictions(tree, rows) == tree.predict(rows).tolist(), cell


@pytest.mark.parametrize("language", LANGUAGES)
def test_columns_and_units_stand_in_the_comments(language):
    code = LANGUAGES[language][2](
        replace(
            stump(Feature("petal width", unit="cm")),
            target="species",
            notes=("2 leaves are constant.",),
        )
    )
    for words in ("petal width (number, in cm)", "species", "2 leaves are constant."):
        assert words in code
    days = stump(Feature("day", form=CellForm("date", date="ISO8601")))
    days = replace(days, threshold=days.threshold + 2000)
    how = "date" if language == "sql" else "number, in years with decimals"
    assert f"day ({how})" in LANGUAGES[language][2](days)
