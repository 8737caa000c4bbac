"""The Predict page."""

from tests.pages.shown import page_text
from tests.pages.stores import add_run, table

CSV = "radius,texture $x$,colour,kind\n5,1,blue,small\n30,,green,fine\n"


def predict(app, text: str):
    """Paste a table."""
    app.button_group(key="predict-source").set_value("Pasted cells").run()
    return app.text_area(key="predict-pasted").set_value(text).run()


def test_a_pasted_table_is_predicted_and_scored(visit, store):
    run = add_run(store, "cart")
    app = visit("predict", run=run)
    assert "reads 3 columns" in app.info[0].value
    app = predict(app, CSV)
    assert "kind is predicted “small” for 50%" in app.header[0].value
    assert "on 2 rows of this table: accuracy" in page_text(app)
    assert "'green' in 1 row" in app.warning[0].value
    app.button_group(key=f"predict-parts-{run}").set_value(["prediction", "rule"]).run()
    shown = app.dataframe[0].value
    assert list(shown) == ["prediction", "rule"]
    assert shown["rule"][0].startswith("radius")


def test_an_absent_column_may_count_as_missing(visit, store):
    run = add_run(store, "grande", "weight")
    app = predict(visit("predict", run=run), "radius,colour\n5,blue\n30,amber\n")
    assert "'texture $x$' is absent" in app.error[0].value.replace("\\", "")
    app.toggle[0].set_value(True).run()
    assert not app.error
    assert "on average, from" in app.header[0].value
    app.button_group(key=f"predict-parts-{run}").set_value(["tree", "weight"]).run()
    assert list(app.dataframe[0].value) == ["tree", "weight"]


def test_a_table_that_the_run_was_trained_on_is_not_scored(visit, store):
    run = add_run(store, "argmin")
    app = visit("predict", run=run)
    app.button_group(key="predict-source").set_value("A stored table").run()
    app.selectbox(key="predict-stored").set_value(store.run(run).problem.table_id).run()
    assert "agreement with it measures nothing" in page_text(app)
    assert len(app.dataframe[0].value) == 200 < len(table())
