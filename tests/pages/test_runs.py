"""Runs lists every run, and opens, renames and deletes."""

from pages.state.choices import _shown
from tests.pages.stores import add_run
from treelab.learners.registry import LEARNERS
from treelab.runs.store.run_store import RunStore
from treelab.trees.losses import Loss


def test_an_empty_store_says_so_and_leads_on(visit):
    app = visit("runs")
    assert "No run yet" in app.info[0].value


def test_every_run_has_a_row_with_its_learner_table_state_score_and_time(
    store, visit, monkeypatch
):
    monkeypatch.setenv("TREELAB_KEEP_DAYS", "30")
    add_run(store, "gradtree")
    add_run(store, "cart", target="weight")
    add_run(store, "argmin", state="running")
    app = visit("runs")
    assert "The data folder holds 0." in app.caption[-1].value
    assert "deletes runs that finished more than 30 days ago" in app.caption[-1].value
    assert "weighted by" not in app.dataframe[0].proto.column_order  # no run is
    table = app.dataframe[0].value
    assert table["learner"].tolist() == ["Argmin tree", "CART", "GradTree"]
    assert table["table"].tolist()[1:] == ["fruit, weight", "fruit, kind"]
    assert table["state"].tolist() == ["● running", "● done", "● done"]
    assert table["metric"].tolist() == ["macro F1", "R²", "macro F1"]
    assert table["score"].notna().tolist() == [False, True, True]
    assert (table["seconds"] >= 0).all()


def test_a_run_of_a_loss_leads_with_its_d2_also_while_it_trains(store, visit):
    run = add_run(store, "cart", target="weight", loss=Loss("quantile", 0.9))
    given = {"loss": "quantile", "quantile": 0.9}
    add_run(store, "gradtree", target="weight", settings=given, state="running")
    table = visit("runs").dataframe[0].value
    assert table["metric"].tolist() == ["D²", "D²"]
    assert table["score"].tolist()[1] == store.run(run).metrics["test"]["d2"]
    (metric,) = [own for own in visit("tree", run=run).metric if "test" in own.label]
    assert metric.label.startswith("D²")


def test_two_ticked_runs_are_compared(store, visit):
    first, second = add_run(store, "cart"), add_run(store, "gradtree")
    app = visit("runs")
    tick(app, 0, 1)
    app.button(key="compare").click().run()
    assert app.title[0].value == "Which tree is better, and where?"
    assert app.selectbox(key="against").value == first
    assert app.selectbox(key="bar-run").value == second


def test_three_ticked_runs_are_compared(store, visit):
    ids = [add_run(store, learner) for learner in ("cart", "gradtree", "argmin")]
    app = visit("runs")
    tick(app, 0, 1, 2)
    app.button(key="compare").click().run()
    assert app.selectbox(key="against").value == ids[0]
    assert app.multiselect(key="others").value == ids[2:]
    scores = app.dataframe[0].value
    assert scores.index.tolist() == ["CART", "GradTree", "Argmin tree"]
    assert " to " in scores.loc["Argmin tree", "− CART (95% CI)"]


def test_runs_of_other_test_rows_are_not_compared_and_it_says_why(store, visit):
    add_run(store, "cart")
    add_run(store, "gradtree", seed=1)
    app = visit("runs")
    tick(app, 0, 1)
    assert app.button(key="compare").disabled
    assert "other rows" in app.button(key="compare").help


def tick(app, *rows: int) -> None:
    """Tick rows of the list, as a visitor does."""
    ids = tuple(run.id for run in RunStore().runs())
    chosen = {"rows": list(rows), "columns": [], "cells": []}
    app.session_state[f"runs-{hash(ids)}"] = {"selection": chosen}
    app.run()


def test_settings_of_a_run_are_changed_on_train(store, visit):
    settings = {"max_depth": 3, "n_steps": 7}
    add_run(store, "cart")
    add_run(store, "gradtree", settings=settings)
    app = visit("runs")
    tick(app, 0)
    app.button(key="change-settings").click().run()
    assert app.title[0].value == "Train and watch"
    app.switch_page("pages/train.py").run()
    assert app.pills(key="learners").value == ["gradtree"]
    assert app.number_input(key="setting-gradtree-max_depth").value == 3
    app.number_input(key="setting-gradtree-max_depth").set_value(2).run()
    app.button(key="train").click().run()
    newest, before = store.runs()[:2]
    assert newest.settings == before.settings | {"max_depth": 2}


def test_a_setting_of_many_digits_is_put_on_the_form_whole():
    known = LEARNERS["argmin"].settings
    (setting,) = (own for own in known if own.name == "pruning_strength")
    assert _shown(setting, [0.0, 0.123456789]) == "0, 0.123456789"
