"""Another model's predictions as a target: imitated, and held against the truth."""

from tests.pages.shown import figures, page_text
from tests.runs.jobs.surrogates import add_surrogate


def test_a_surrogate_says_how_well_it_imitates_and_trains_a_residual_tree(visit, store):
    run = add_surrogate(store)
    app = visit("tree", tab="Scores", run=run)
    text = page_text(app)
    axes = [figure["layout"].get("yaxis", {}) for figure in figures(app)]
    assert "imitated class" in [axis.get("title", {}).get("text") for axis in axes]
    assert "How well it imitates forest" in [header.value for header in app.header]
    assert "the tree agrees with “forest” on" in text
    assert "the tree 0." in text
    app.button(key="residual").click().run()
    (residual,) = [found for found in store.runs() if found.id != run]
    assert residual.title == "Where CART differs from forest"
    assert residual.state == "queued"
    assert residual.problem.target == "difference from forest"


def test_the_column_of_predictions_and_its_truth_are_chosen_on_data(visit, store):
    run = store.run(add_surrogate(store, truth=False))
    app = visit("data", run=run.id, table=run.problem.table_id)
    key = f"{run.problem.table_id}-forest"
    assert app.checkbox(key=f"surrogate-{key}").value
    app.selectbox(key=f"truth-{key}").select("kind").run()
    assert not app.exception
    problem = app.session_state["problem"]
    assert (problem.is_surrogate, problem.truth) == (True, "kind")
    assert "kind" not in problem.columns
    app.selectbox(key=f"truth-{key}").select(None).run()
    assert "kind" in app.session_state["problem"].columns
    app.selectbox(key=f"truth-{key}").select("kind").run()
    app.checkbox(key=f"surrogate-{key}").uncheck().run()
    assert app.session_state["problem"].truth == ""
    assert not app.session_state["problem"].is_surrogate
    assert "kind" in app.session_state["problem"].columns
