"""Runs lists every run, and opens, renames and deletes."""

from tests.pages.stores import add_run


def test_an_empty_store_says_so_and_leads_on(visit):
    app = visit("runs")
    assert "No run yet" in app.info[0].value


def test_every_run_has_a_row_with_its_learner_table_state_score_and_time(store, visit):
    add_run(store, "gradtree")
    add_run(store, "cart", target="weight")
    add_run(store, "argmin", state="running")
    table = visit("runs").dataframe[0].value
    assert table["learner"].tolist() == ["Argmin tree", "CART", "GradTree"]
    assert table["table"].tolist()[1:] == ["fruit, weight", "fruit, kind"]
    assert table["state"].tolist() == ["● running", "● done", "● done"]
    assert table["metric"].tolist() == ["macro F1", "R²", "macro F1"]
    assert table["score"].notna().tolist() == [False, True, True]
    assert (table["seconds"] >= 0).all()
