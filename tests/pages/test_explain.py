"""The Explain page."""

import re
import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tests.pages import stores
from tests.pages.shown import figures, page_text, viewers
from tests.pages.stores import add_run, add_run_of_times, table
from treelab.evaluation.ensembles import rows_decided_by_one
from treelab.trees.cells import HOURS, CellForm, note_forms
from treelab.trees.dates import ISO, decimal_years
from treelab.trees.feature import Feature
from treelab.trees.tree import Tree
from treelab.trees.words import clock_text, percent, probability


def split_of(store, run):
    problem = store.run(run).problem
    return problem.split(store.table(problem.table_id))


@pytest.mark.parametrize(
    "row", ["17", *(pytest.param(row, marks=pytest.mark.slow) for row in ("1", "48"))]
)
def test_the_prediction_is_that_of_the_model(visit, store, row):
    run = add_run(store, "cart")
    app = visit("explain", run=run, row=row)
    X, y, _ = split_of(store, run).rows("test")
    place = int(row) - 1
    predicted = store.model(run).predict(X.iloc[[place]])[0]
    assert f"“{predicted}”" in page_text(app)
    verdict = "Correct" if predicted == y.iloc[place] else "Wrong: the row's class is"
    assert verdict in page_text(app)
    assert f"Row {X.index[place] + 1} of the table" in page_text(app)


@pytest.mark.parametrize(
    "row", ["1e999", "9" * 5000, pytest.param("4800", marks=pytest.mark.slow)]
)
def test_a_row_beyond_the_test_rows_opens_the_first(visit, store, row):
    app = visit("explain", run=add_run(store, "cart"), row=row)
    assert app.number_input(key="row").value == 1


@pytest.mark.parametrize("target", ["kind", "weight"])
def test_the_answer_has_its_reasons(visit, store, target):
    run = add_run(store, "cart", target)
    app = visit("explain", run=run, row="2")
    words = page_text(app)
    assert "ecause " in words
    assert ("Sufficient conditions for" in words) == (target == "kind")
    bars = figures(app)[0]["data"][0]
    tree, row = store.model(run), split_of(store, run).X_test.iloc[[1]]
    ends = bars["base"][-1] + bars["x"][-1]
    if target == "kind":
        assert ends == pytest.approx(tree.predict_proba(row).max())
    else:
        assert ends == pytest.approx(tree.predict(row)[0])


def test_the_probability_is_that_of_the_predicted_class_where_another_is_likelier(
    visit, store, monkeypatch
):
    def costly(*arguments):
        tree = stores.single_tree(*arguments)
        return replace(tree, decision=np.zeros(tree.n_nodes, dtype=np.int32))

    monkeypatch.setitem(stores.MAKERS, "cart", costly)
    run = add_run(store, "cart")
    model, X = store.model(run), split_of(store, run).X_test
    proba, label = model.predict_proba(X), model.classes[0]
    place = int(proba[:, 0].argmin())
    own, most = probability(proba[place, 0]), probability(proba[place].max())
    app = visit("explain", run=run, row=str(place + 1))
    likeliest = model.classes[int(proba[place].argmax())]
    assert f"“{label}”, {own} (“{likeliest}”, {most}, counts less)" in page_text(app)
    bars = figures(app)[0]["data"][0]
    assert bars["base"][-1] + bars["x"][-1] == pytest.approx(proba[place, 0])


@pytest.mark.parametrize("method", ["Shapley values", "Along the path"])
def test_what_each_feature_changes_adds_up_to_the_prediction(visit, store, method):
    run = add_run(store, "cart")
    app = visit("explain", run=run, row="2")
    shown = app.button_group(key=f"contributions-{run}")
    assert shown.value == "Shapley values"
    shown.set_value(method).run()
    assert not app.exception
    bars = figures(app)[0]["data"][0]
    predicted = store.model(run).predict_proba(split_of(store, run).X_test.iloc[[1]])
    assert bars["base"][-1] + bars["x"][-1] == pytest.approx(predicted.max())


def test_the_decision_path_is_drawn_and_written(visit, store):
    run = add_run(store, "cart")
    app = visit("explain", run=run, row="2")
    tree, X = store.model(run), split_of(store, run).X_test
    path = tree.path(X.iloc[[1]])
    (drawn,) = viewers(app)[0]["paths"]
    assert len(drawn["keys"]) == len(path)
    assert "Decision path" in page_text(app)
    assert "test rows" in page_text(app)


def test_an_ensemble_shows_its_heaviest_tree_and_opens_others(visit, store):
    run = add_run(store, "grande")
    app = visit("explain", run=run, row="3")
    model, row = store.model(run), split_of(store, run).X_test.iloc[[2]]
    (first, second), weight = (own[0] for own in model.top_estimators(row, 2))
    assert f"Tree {first} has {percent(weight[0])} of the weight" in page_text(app)
    assert "90% of the weight" in page_text(app)
    (large,) = viewers(app)  # and no other
    chips = app.button_group(key=f"opened-{run}-test-2")
    assert chips.options[0].startswith(f"tree {first} · {percent(weight[0])}")
    chips.set_value(int(second)).run()
    assert not app.exception
    assert viewers(app)[0]["trees"] != large["trees"]
    assert len(viewers(app)[0]["paths"]) == 1


@pytest.mark.parametrize("target", ["kind", "weight"])
def test_the_nearest_row_that_is_predicted_otherwise_can_be_tried(visit, store, target):
    run = add_run(store, "cart", target)
    app = visit("explain", run=run, row="1", tab="What if")
    model, X = store.model(run), split_of(store, run).X_test
    before = model.predict(X.iloc[[0]])[0]
    assert len(viewers(app)[0]["paths"]) == 1
    app.button(key=f"try-{run}-test-0-0").click().run()
    assert not app.exception
    assert "Before: " in page_text(app)
    assert len(viewers(app)[0]["paths"]) == 2
    if target == "kind":
        others = app.selectbox(key=f"wanted-{run}-test-0").options
        assert before not in others
        assert any(f"“{label}”, " in page_text(app) for label in others)


def test_a_time_that_changes_the_prediction_can_be_tried(visit, store, monkeypatch):
    times = pd.Series(pd.date_range("2023-04-27", periods=240, freq="11min"))
    frame = table().assign(radius=decimal_years(times))
    note_forms(frame, {"radius": CellForm("date", date=ISO)})
    monkeypatch.setattr(stores, "table", lambda: frame)
    when = Feature("radius", form=CellForm("date", date=ISO))

    def stump(classes, target, split):
        names = {"classes": classes, "target": target}
        value, at = [[0.9, 0.1], [0.1, 0.9]], frame["radius"][120]
        tree = Tree.complete((when,), [0], [at], [True], value, **names)
        return tree.with_rows(*split.rows("train")[:2])

    monkeypatch.setitem(stores.MAKERS, "cart", stump)
    run = add_run(store, "cart", "ripe", columns=["radius"])
    app = visit("explain", run=run, row="1", tab="What if")
    app.button(key=f"try-{run}-test-0-0").click().run()
    before, after = re.findall("class=.prediction.*?“(.*?)”", page_text(app))
    assert {before, after} == {"True", "False"}


def test_rows_are_filtered_by_times(visit, store, monkeypatch):
    run = add_run_of_times(store, monkeypatch)
    app = visit("explain", run=run, row="1")
    app.selectbox(key=f"rows-column-{run}").set_value("radius").run()
    field = app.text_input(key=f"rows-at least-radius-{run}")
    hours = split_of(store, run).X_test["radius"]
    assert field.placeholder == clock_text(hours.min())
    late = np.sort(hours)[-3]
    field.set_value(clock_text(late)).run()
    assert "1 of 3 rows" in page_text(app)
    assert hours.iloc[app.session_state["row"] - 1] >= late
    app.text_input(key=field.key).set_value("soon").run()
    assert app.error[0].value.startswith("Write a time as ")
    assert not app.exception


def test_a_time_of_day_is_written_and_read_as_one(visit, store, monkeypatch):
    run = add_run_of_times(store, monkeypatch)
    app = visit("explain", run=run, row="1", tab="What if")
    (field,) = [own for own in app.text_input if own.label == "radius"]
    hours, minutes = map(int, field.value.split(":"))
    assert hours + minutes / 60 == split_of(store, run).X_test["radius"].iloc[0]
    late = hours < 12
    change = "more than 12:03" if late else "12:03 or less"
    assert f"from {field.value} to {change}" in page_text(app).replace("\\", "")
    app.button(key=f"try-{run}-test-0-0").click().run()
    before, after = re.findall("class=.prediction.*?“(.*?)”", page_text(app))
    assert {before, after} == {"True", "False"}
    (field,) = [own for own in app.text_input if own.label == "radius"]
    field.set_value("21:20" if late else "3:15 AM").run()
    before, after = re.findall("class=.prediction.*?“(.*?)”", page_text(app))
    assert {before, after} == {"True", "False"}
    app.text_input(key=field.key).set_value("soon").run()
    assert app.error[0].value.startswith("Write a time as 2")
    assert not app.exception


def test_a_target_of_thousands_can_be_asked_for(visit, store, monkeypatch):
    monkeypatch.setattr(
        stores, "table", lambda made=stores.table: made().eval("weight = weight * 1e4")
    )
    run = add_run(store, "cart", "weight")
    app = visit("explain", tab="What if", run=run, row="1")
    assert app.number_input(key=f"bound-{run}-test-0").value > 1000


def test_a_target_of_times_is_asked_for_as_a_time(visit, store, monkeypatch):
    form = CellForm(unit=HOURS, times="h:mm", example="0:00")
    named = stores.with_names
    monkeypatch.setattr(
        stores, "with_names", lambda *of: replace(named(*of), target_form=form)
    )
    run = add_run(store, "cart", "weight", seed=7)
    app = visit("explain", tab="What if", run=run, row="1")
    field = app.text_input(key=f"bound-{run}-test-0")
    assert re.fullmatch(r"\d+:\d\d(:\d\d)?", field.value)
    before = page_text(app)
    field.set_value("0:01").run()
    assert page_text(app) != before
    app.text_input(key=field.key).set_value("soon").run()
    assert app.error[0].value.startswith("Write a time as ")
    assert not app.exception


def test_what_a_row_is_predicted_already_asks_for_no_change(visit, store):
    run = add_run(store, "cart", "weight")
    for row in range(1, 5):  # each leaf's, also that in the middle
        app = visit("explain", tab="What if", run=run, row=str(row))
        assert "(distance 0)" not in page_text(app)
    side = app.button_group(key=f"side-{run}-test-3")
    side.set_value(not side.value).run()
    assert "The prediction is there already." in page_text(app)


@pytest.mark.parametrize("row", ["1", "2"])
def test_what_is_asked_for_at_first_some_leaf_predicts(visit, store, monkeypatch, row):
    def mostly_none(made=stores.table):
        return made().assign(weight=lambda own: own["weight"] * (own.index % 5 < 1))

    monkeypatch.setattr(stores, "table", mostly_none)
    run = add_run(store, "cart", "weight")
    text = page_text(visit("explain", tab="What if", run=run, row=row))
    assert "No allowed change leads there" not in text
    assert "The nearest rows over all leaves" in text


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        ("cart", "No allowed change leads there"),
        ("get", "No change of numbers alone leads there"),
    ],
)
def test_locked_features_stay(visit, store, learner, words):
    run = add_run(store, learner)
    app = visit("explain", tab="What if", run=run, row="1")
    columns = [str(c) for c in split_of(store, run).X_test]
    app.multiselect(key=f"locked-{run}").set_value(columns).run()
    assert words in page_text(app)


def test_an_ensemble_is_searched_when_asked(visit, store):
    run = add_run(store, "grande")
    app = visit("explain", tab="What if", run=run, row="1")
    assert not [own for own in app.button if own.key == f"try-{run}-test-0-0"]
    app.toggle(key=f"search-{run}-test-0").set_value(True).run()
    assert not app.exception
    assert app.button(key=f"try-{run}-test-0-0")
    assert "Near rows" in page_text(app)


@pytest.mark.parametrize("target", ["kind", "weight"])
def test_rows_that_one_tree_decides_are_listed_with_its_rules(visit, store, target):
    run = add_run(store, "grande", target)
    model, (X, y, _) = store.model(run), split_of(store, run).rows("test")
    app = visit("explain", tab="Overall", run=run, row="1")
    for share in (0.5, 0.9):
        app.button_group(key=f"share-{run}").set_value(share).run()
        found = rows_decided_by_one(model, X, y, share=share)
        if not found:
            assert "No tree has more than" in page_text(app)
            continue
        listed = app.dataframe[-1].value
        assert listed["test rows"].tolist() == [len(own.rows) for own in found]
        assert listed["rule"].tolist() == [own.rule for own in found]
        n_rows = sum(listed["test rows"])
        assert f"on {n_rows:,} of {len(y):,} test rows" in page_text(app)
    assert not app.exception


def test_the_heaviest_tree_says_whether_it_agrees(visit, store):
    run = add_run(store, "grande")
    model, X = store.model(run), split_of(store, run).X_test
    for row in range(4):
        app = visit("explain", run=run, row=str(row + 1))
        own = X.iloc[[row]]
        alone = model.estimator(int(model.top_estimators(own)[0][0, 0])).predict(own)
        same = alone[0] == model.predict(own)[0]
        assert ("alone it predicts the same" in page_text(app)) == same


def test_a_changed_value_changes_the_prediction_and_has_no_target(visit, store):
    run = add_run(store, "cart")
    X = split_of(store, run).X_test
    place = int(np.argmax(X["radius"].to_numpy()))
    app = visit("explain", tab="What if", run=run, row=str(place + 1))
    radius = next(n for n in app.number_input if n.key and n.key.endswith("radius"))
    radius.set_value(1.0).run()
    assert not app.exception
    assert "“small”" in page_text(app)
    assert "Before: " in page_text(app)
    next(b for b in app.button if b.key and b.key.endswith("reset")).click().run()
    assert "Before:" not in page_text(app)


@pytest.mark.parametrize(
    "learner", ["cart", "argmin", pytest.param("grande", marks=pytest.mark.slow)]
)
def test_a_category_and_a_missing_value_can_be_changed(visit, store, learner):
    run = add_run(store, learner)
    X = split_of(store, run).X_test
    place = int(np.argmax(X["texture $x$"].isna().to_numpy()))
    app = visit("explain", tab="What if", run=run, row=str(place + 1))
    color = next(s for s in app.selectbox if s.key and s.key.endswith("colour"))
    color.set_value("blue" if color.value != "blue" else "amber").run()
    assert not app.exception
    assert "Before: " in page_text(app)
    texture = next(n for n in app.number_input if n.key and n.key.endswith("$x$"))
    assert texture.value is None
    texture.set_value(3.0).run()
    assert not app.exception
    assert "Before: " in page_text(app)


def test_misclassified_rows_are_gone_through(visit, store):
    run = add_run(store, "argmin")
    app = visit("explain", run=run)
    X, y, _ = split_of(store, run).rows("test")
    wrong = np.flatnonzero(store.model(run).predict(X) != y) + 1
    app.selectbox(key=f"rows-order-{run}").set_value("wrong").run()
    for row in (wrong[0], wrong[1]):
        assert app.number_input(key="row").value == row
        assert "Wrong:" in page_text(app)
        app.button(key="row-next").click().run()
    app.selectbox(key=f"rows-column-{run}").set_value("radius").run()
    most = float(X["radius"].iloc[wrong - 1].median())
    app.number_input(key=f"rows-at most-radius-{run}").set_value(most).run()
    assert f"1 of {(X['radius'].iloc[wrong - 1] <= most).sum()} rows" in page_text(app)
    assert X["radius"].iloc[app.number_input(key="row").value - 1] <= most


def test_a_column_called_prediction_does_not_hide_the_models(visit, store):
    more = {"prediction": np.arange(240.0)}
    columns = ["radius", "texture $x$", "colour", "prediction"]
    run = add_run(store, "cart", more=more, columns=columns)
    app = visit("explain", run=run)
    offered = app.selectbox(key=f"rows-column-{run}")
    assert offered.options[:2] == ["kind", "model's prediction"]
    offered.set_value("model's prediction").run()
    app.multiselect(key=f"rows-among-model's prediction-{run}").set_value(
        ["fine"]
    ).run()
    found = store.model(run).predict(split_of(store, run).rows("test").X)
    assert f"1 of {(found == 'fine').sum()} rows" in page_text(app)


def test_fields_are_of_their_columns_kind(visit, store, monkeypatch):
    monkeypatch.setattr(
        stores, "table", lambda made=stores.table: made().round({"radius": 0})
    )
    columns = ["radius", "texture $x$", "colour", "ripe"]
    app = visit("explain", tab="What if", run=add_run(store, "cart", columns=columns))
    flag = next(own for own in app.button_group if own.key.endswith("-ripe"))
    before = flag.value
    flag.set_value("False" if before == "True" else "True").run()
    assert not app.exception
    assert "Before: " in page_text(app)
    steps = {own.key.split("-")[-1]: own.step for own in app.number_input}
    assert steps["radius"] == 1
    assert steps["texture $x$"] == 0.1


def test_a_field_has_the_unit_that_the_model_knows(visit, store, monkeypatch):
    def stump(classes, target, split):
        price = Feature("radius", unit="$")  # of numbers that stood among words
        value = [[0.9, 0.1], [0.1, 0.9]]
        names = {"classes": classes, "target": target}
        tree = Tree.complete((price,), [0], [1.5], [True], value, **names)
        return tree.with_rows(*split.rows("train")[:2])

    monkeypatch.setitem(stores.MAKERS, "cart", stump)
    run = add_run(store, "cart", "ripe", columns=["radius"])
    app = visit("explain", tab="What if", run=run)
    labels = [own.label for own in app.number_input]
    assert r"radius (\$)" in labels


def test_a_predictor_on_top_is_named_where_it_predicts(visit, store):
    app = visit("explain", run=add_run(store, "argmin"))
    assert "The predictor on top reads" in page_text(app)


def test_a_number_has_its_error(visit, store):
    app = visit("explain", run=add_run(store, "cart", "weight"))
    assert "kg; error:" in page_text(app)


@pytest.mark.parametrize(
    "learner", ["cart", pytest.param("grande", marks=pytest.mark.slow)]
)
def test_what_matters_overall_is_measured_when_asked(visit, store, learner):
    target = "kind" if learner == "cart" else "weight"
    run = add_run(store, learner, target)
    app = visit("explain", tab="Overall", run=run, row="1")
    assert len(figures(app)) == (3 if learner == "cart" else 2)
    assert "falls most, by" in page_text(app)
    app.selectbox(key=f"dependence-{run}").set_value("radius").run()
    assert not app.exception
    assert "By radius, the mean" in page_text(app)


# New rows: a table that a visitor brings.


CSV = "radius,texture $x$,colour,kind\n5,1,blue,small\n30,,green,fine\n"


def predict(app, text: str):
    """Paste a table."""
    app.button_group(key="predict-source").set_value("Pasted cells").run()
    return app.text_area(key="predict-pasted").set_value(text).run()


def test_a_pasted_table_is_predicted_and_scored(visit, store):
    run = add_run(store, "cart")
    app = visit("explain", run=run, tab="New rows")
    assert "reads 3 columns" in app.info[0].value
    app = predict(app, CSV)
    assert "kind is predicted “small” for 50%" in app.header[0].value
    assert "on 2 rows of this table: accuracy" in page_text(app)
    assert "'green' in 1 row" in app.warning[0].value
    app.button_group(key=f"predict-parts-{run}").set_value(["prediction", "rule"]).run()
    shown = app.dataframe[0].value
    assert list(shown) == ["prediction", "rule"]
    assert shown["rule"][0].startswith("radius")


def test_of_a_database_with_several_tables_one_is_chosen_or_asked_for(
    visit, store, tmp_path
):
    run = add_run(store, "cart")
    with closing(sqlite3.connect(tmp_path / "new.sqlite")) as database:
        for name, radius in (("small", 5), ("large", 30)):
            own = table().head(3).assign(radius=radius, colour="blue")
            own.to_sql(name, database, index=False)
    content = (tmp_path / "new.sqlite").read_bytes()
    app = visit("explain", run=run, tab="New rows")
    app.file_uploader(key="predict-file").upload("new.sqlite", content).run()
    (chosen,) = [own for own in app.selectbox if own.label.startswith("Table (2")]
    assert chosen.options == ["large", "small"]
    chosen.set_value("small").run()
    assert "kind is predicted “small” for 100%" in app.header[0].value
    (query,) = [own for own in app.text_area if own.label == "Or a query"]
    query.set_value("SELECT * FROM large LIMIT 2").run()
    assert not app.exception
    assert app.header[0].value.startswith("2 rows")
    assert "“small”" not in app.header[0].value


def test_an_absent_column_may_count_as_missing(visit, store):
    run = add_run(store, "grande", "weight")
    app = predict(
        visit("explain", run=run, tab="New rows"), "radius,colour\n5,blue\n30,amber\n"
    )
    assert "'texture $x$' is absent" in app.error[0].value.replace("\\", "")
    app.toggle[0].set_value(True).run()
    assert not app.error
    assert "on average, from" in app.header[0].value
    app.button_group(key=f"predict-parts-{run}").set_value(["tree", "weight"]).run()
    assert list(app.dataframe[0].value) == ["tree", "weight"]


def test_a_table_that_the_run_was_trained_on_is_not_scored(visit, store):
    run = add_run(store, "argmin")
    app = visit("explain", run=run, tab="New rows")
    app.button_group(key="predict-source").set_value("A stored table").run()
    app.selectbox(key="predict-stored").set_value(store.run(run).problem.table_id).run()
    assert "agreement with it measures nothing" in page_text(app)
    assert len(app.dataframe[0].value) == 200 < len(table())


def test_a_new_row_is_explained(visit, store):
    run = add_run(store, "cart")
    app = predict(visit("explain", run=run, tab="New rows"), CSV)
    app.button_group(key="rows-from").set_value("new").run()
    assert "Row 1 of the 2 new ones" in page_text(app)
    assert "Correct" not in page_text(app)
    app.button(key="row-next").click().run()
    assert not app.exception
    assert "Row 2 of the 2 new ones" in page_text(app)
    other = visit("explain", run=run, tab="What if")
    other = predict(other, CSV)
    other.button_group(key="rows-from").set_value("new").run()
    assert not other.exception
    assert any(own.label == "Try it" for own in other.button)
    # The fields of the same row of another table hold what it holds.
    other = predict(other, CSV.replace("\n5,", "\n31,"))
    assert "Before: " not in page_text(other)
    assert 31 in [field.value for field in other.number_input]


def test_a_row_of_the_whole_table_is_explained(visit, store):
    run = add_run(store, "cart")
    app = visit("explain", run=run, row="5")
    app.button_group(key="rows-from").set_value("table").run()
    split = split_of(store, run)
    place = split.X_train.index[3]
    app.number_input(key="row").set_value(int(place) + 1).run()
    assert not app.exception
    assert f"Row {place + 1} of the table fruit, kind, a training row" in page_text(app)
    predicted = store.model(run).predict(split.X_train.iloc[[3]])[0]
    assert f"“{predicted}”" in page_text(app)


def test_of_weighted_sums_it_is_said_that_numbers_alone_change(visit, store):
    run = add_run(store, "get")
    text = page_text(visit("explain", tab="What if", run=run, row="1"))
    assert "weighted sums the numbers alone change" in text


def test_log_odds_of_many_classes_say_against_what(visit, store):
    text = page_text(visit("explain", run=add_run(store, "grande"), row="1"))
    assert "against the mean of all classes" in text


def test_rows_are_filtered_by_days(visit, store):
    days = pd.Series(pd.date_range("2021-01-01 08:57", periods=240, freq="7h"))
    columns = ["radius", "texture $x$", "colour", "on"]
    more = {"on": decimal_years(days).to_numpy()}
    run = add_run(store, "cart", "weight", more=more, columns=columns)
    rows = days[split_of(store, run).X_test.index]
    first, last = rows.iloc[5].normalize(), rows.iloc[9].normalize()
    first, last = sorted([first, last])
    app = visit("explain", run=run)
    app.selectbox(key=f"rows-column-{run}").set_value("on").run()
    app.date_input(key=f"rows-at least-on-{run}").set_value(first.date()).run()
    app.date_input(key=f"rows-at most-on-{run}").set_value(last.date()).run()
    n_rows = rows.dt.normalize().between(first, last).sum()
    assert f"by on: 1 of {n_rows} rows" in page_text(app)
