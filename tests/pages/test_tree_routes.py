"""The tab Routes of the Tree page."""

import pandas as pd
import pytest

from tests.pages.shown import figures, page_text
from tests.pages.stores import add_run, table
from treelab.trees.words import percent


def test_all_classes_stand_side_by_side_below_what_is_found(visit, store):
    app = visit("tree", tab="Routes", run=add_run(store, "cart"))
    assert len(figures(app)) == 3
    assert "Most similar routes" in app.header[0].value
    assert "rough" in page_text(app)


def test_each_class_can_be_left_out(visit, store):
    run = add_run(store, "cart")
    app = visit("tree", tab="Routes", run=run)
    kinds = next(g for g in app.button_group if g.key == f"routing-kinds-{run}")
    kinds.set_value(["small"]).run()
    assert len(figures(app)) == 1
    kinds = next(g for g in app.button_group if g.key == f"routing-kinds-{run}")
    kinds.set_value([]).run()
    assert not figures(app)
    assert "Choose at least one" in app.info[0].value


@pytest.mark.parametrize(("part", "n_rows"), [("test", 48), ("train", 144)])
def test_the_rows_are_those_of_the_chosen_part(visit, store, part, n_rows):
    run = add_run(store, "cart")
    app = visit("tree", tab="Routes", run=run)
    next(g for g in app.button_group if g.key == "routing-rows").set_value(part)
    kinds = next(g for g in app.button_group if g.key == f"routing-kinds-{run}")
    kinds.set_value(["small", "fine", "rough"]).run()
    rows = [
        int(text.split(" of the")[0].split("<br>")[-1].replace(",", ""))
        for figure in figures(app)
        for trace in figure["data"]
        if trace.get("name") == "nodes"
        for text in trace["hovertext"][:1]
    ]
    assert sum(rows) == n_rows


def test_a_number_target_is_followed_by_bands(visit, store):
    app = visit("tree", tab="Routes", run=add_run(store, "cart", "weight"))
    assert "low" in page_text(app)
    assert "high" in page_text(app)
    assert "kg" in page_text(app)


def test_two_classes_are_held_against_each_other(visit, store):
    run = add_run(store, "cart")
    app = visit("tree", tab="Routes", run=run)
    view = app.button_group(key=f"routing-view-{run}")
    view.set_value("How alike").run()
    (matrix,) = figures(app)
    assert matrix["data"][0]["type"] == "heatmap"
    app.button_group(key=f"routing-view-{run}").set_value("Difference of two").run()
    assert len(figures(app)) == 1
    assert "of those that reach it" in page_text(app)
    app.selectbox(key=f"difference-second-{run}").set_value("small").run()
    app.selectbox(key=f"difference-first-{run}").set_value("small").run()
    assert "two different ones" in app.info[0].value
    assert not app.exception


def test_test_rows_are_held_against_the_fitted_ones(visit, store):
    run = add_run(store, "cart")
    app = visit("tree", tab="Routes", run=run)
    assert "No significant drift against the 144 training rows" in page_text(app)
    app.button_group(key=f"routing-view-{run}").set_value("Against fitted rows").run()
    assert len(figures(app)) == 1
    assert app.dataframe[0].value["rows"].max() == 48
    app.button_group(key="routing-rows").set_value("train").run()
    assert "drift against" not in page_text(app)
    assert not app.exception


@pytest.mark.slow
def test_leaves_are_as_pure_as_their_rows(visit, store):
    run = add_run(store, "argmin")
    app = visit("tree", tab="Routes", run=run)
    app.button_group(key=f"routing-view-{run}").set_value("Purity of leaves").run()
    assert len(figures(app)) == 1
    leaves = app.dataframe[0].value
    expected = (leaves["rows"] * leaves["purity"]).sum() / leaves["rows"].sum()
    text = page_text(app).replace("\\", "")
    assert f"{percent(expected)} of the test rows are of their leaf's" in text
    assert "Dendrogram purity" in text
    number = visit("tree", tab="Routes", run=add_run(store, "argmin", "weight"))
    assert not any("Purity of leaves" in group.options for group in number.button_group)


@pytest.mark.slow
def test_a_files_rows_go_through_the_tree(visit, store):
    run = add_run(store, "cart")
    app = visit("tree", tab="Routes", run=run)
    app.button_group(key="routing-rows").set_value("a file").run()
    assert "radius" in app.info[0].value
    frame = table(120, seed=5).drop(columns="weight")
    frame["radius"] = frame["radius"] / 2
    day = pd.Series(pd.date_range("2024-01-01", periods=120)).dt.strftime("%Y-%m-%d")
    frame = frame.assign(day=day)
    no_radius = frame.drop(columns="radius").to_csv(index=False).encode()
    app.file_uploader(key="routing-file").upload("short.csv", no_radius, "text/csv")
    app.run()
    assert "'radius' is absent" in app.error[0].value.replace("\\", "")
    assert not figures(app)
    whole = frame.to_csv(index=False).encode()
    app.file_uploader(key="routing-file").upload("new.csv", whole, "text/csv").run()
    assert not app.error
    assert "Significant drift against the 144 training rows" in page_text(app)
    assert len(figures(app)) == 3
    app.button_group(key=f"routing-view-{run}").set_value("Against fitted rows").run()
    assert len(figures(app)) == 2
    assert "By day" in app.subheader[0].value
    unlabelled = frame[["texture $x$", "colour", "radius"]].to_csv(index=False).encode()
    app.file_uploader(key="routing-file").upload("plain.csv", unlabelled, "text/csv")
    app.run()
    app.button_group(key=f"routing-view-{run}").set_value("Each class").run()
    assert len(figures(app)) == 1
    assert "all rows" in page_text(app)
    assert not app.exception
