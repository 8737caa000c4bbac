"""Train finds clusters of rows, with nothing to predict."""

import re

import pytest
from sklearn.datasets import load_iris

from tests.pages.shown import cards, page_text, viewers
from tests.pages.stores import report, table
from tests.runs.jobs.clustered import clustered
from treelab.learners.argmin.clustering import ArgminTreeClusterer
from treelab.runs.jobs.clusters import clusters_problem, name_clusters
from treelab.runs.store.workers import ProcessId


def found_clusters(store, name="fruit", known=None):
    """A run that found clusters in the hand-made table, as a worker leaves it."""
    frame = table()[["radius", "texture $x$", "weight", "kind"]]
    return clustered(store, frame.dropna(), name, known=known, max_epochs=5)


def of_clusters(visit, **address):
    app = visit("train", **address)
    if app.button_group(key="aim").value != "clusters":
        app.button_group(key="aim").set_value("clusters").run()
    return app


def test_clusters_are_found_without_anything_to_predict(store, visit):
    app = of_clusters(visit)
    problem = app.session_state["problem"]
    app.selectbox(key=f"known-{problem.table_id}").set_value(0).run()
    app.number_input(key="setting-clusters-depth").set_value(2).run()
    app.button(key="train").click().run()
    assert not app.exception
    (run,) = store.runs()
    assert (run.learner, run.state, run.settings["depth"]) == ("clusters", "queued", 2)
    assert run.problem.awaits_clusters
    assert problem.target in run.problem.columns
    assert run.id in store.queued()
    assert "Argmin clusters" in cards(app)


def test_rules_of_clusters_count_the_rows_that_they_name(store, visit):
    shown = page_text(visit("tree", run=found_clusters(store)))
    (n_rows,) = re.findall(r"Rows: (\d+) training rows", shown)
    rules = shown.split('<table class="rules">')[1].split("</table>")[0]
    counts = re.findall(r"<tr><td>(?:<mark>)?(\d+)", rules)
    assert sum(map(int, counts)) == int(n_rows)


def test_no_cluster_is_called_correct(store, visit):
    shown = page_text(visit("explain", run=found_clusters(store)))
    assert 'class="prediction"' in shown
    assert "Correct" not in shown


def test_a_column_called_none_can_be_told_from_no_column(store, visit):
    key = store.add_table(table().assign(none=1.0), "a column none")
    options = of_clusters(visit, table=key).selectbox(key=f"known-{key}").options
    assert "none" in options
    assert len({*options}) == len(options)


@pytest.mark.slow
def test_clusters_may_be_alike_in_chosen_columns(store, visit):
    app = of_clusters(visit)
    alike = app.selectbox(key="setting-clusters-target_columns")
    alike.select("each column, from the others").run()
    app.button(key="train").click().run()
    assert store.runs()[0].settings["target_columns"] == "each"
    app.selectbox(key="setting-clusters-target_columns").select("chosen columns").run()
    assert "Choose at least one column" in page_text(app)
    assert app.button(key="train").disabled
    named = app.multiselect(key="setting-clusters-target_columns-names")
    named.set_value(named.options).run()
    assert "Leave at least one column" in app.error[0].value
    named.set_value([])
    named.select(named.options[0]).run()
    app.button(key="train").click().run()
    assert not app.exception
    assert store.runs()[0].settings["target_columns"] == [named.options[0]]
    assert f"target columns {named.options[0]}" in cards(app)


def test_known_labels_are_the_target_and_no_column(store, visit):
    app = of_clusters(visit)
    target = app.session_state["problem"].target
    app.button(key="train").click().run()
    (run,) = store.runs()
    assert run.problem.target == target
    assert target not in run.problem.columns
    assert not run.problem.awaits_clusters


def test_labels_that_are_numbers_are_refused_in_place(store, visit):
    app = of_clusters(visit)
    base = app.session_state["problem"].table_id
    app.selectbox(key=f"known-{base}").set_value(1).run()
    assert "looks like numbers" in app.error[0].value
    assert app.button(key="train").disabled


@pytest.mark.slow
def test_a_run_that_still_looks_for_clusters_brings_its_table(store, visit):
    frame = table().dropna()
    table_id = store.add_table(frame, "fruit")
    problem = clusters_problem(frame, table_id=table_id, table_name="fruit")
    run_id = store.create("clusters", {}, problem)
    store.start(run_id, ProcessId.here())
    report(store, run_id)
    for page in ("train", "data"):
        app = visit(page, run=run_id)
        assert not app.exception
        assert app.session_state["problem"].table_id == table_id
    app = visit("train", run=run_id)
    assert app.button_group(key="aim").value == "clusters"
    assert app.selectbox(key=f"bar-target-{table_id}").value is None
    assert app.selectbox(key="bar-run").value == run_id
    tree = ArgminTreeClusterer(depth=2, max_epochs=2).fit(problem.table(frame)).tree_
    store.add_snapshot(run_id, 2, name_clusters(tree))
    app = visit("train", run=run_id)
    assert not app.exception
    assert viewers(app)
    assert not visit("tree", run=run_id).exception


@pytest.mark.slow
@pytest.mark.parametrize("known", [None, "kind"])
def test_which_clusters_were_found_is_said_in_one_line(store, visit, known):
    run_id = found_clusters(store, known=known)
    app = visit("train", run=run_id)
    assert not app.exception
    (line,) = [text.value for text in app.markdown if "** in " in text.value]
    assert "clusters" in line
    assert ("dendrogram purity" in line) == (known is not None)
    assert ("(all in one cluster: 0." in line) == (known is not None)
    assert all(view["options"]["leaves_apart"] for view in viewers(app))
    assert "Argmin clusters" in cards(app)


def test_runs_of_clusters_and_of_predictions_are_apart(store, visit):
    run_id = found_clusters(store)
    app = visit("train", run=run_id)
    app.button_group(key="aim").set_value("predict").run()
    assert "No run on this table yet" in app.info[0].value


@pytest.mark.slow
def test_clusters_are_not_compared_by_clusters(visit, store):
    X = load_iris(as_frame=True).data
    assert len({clustered(store, X) for _ in range(2)}) == 2
    assert "No other run has the test rows" in visit("compare").info[0].value
