"""The Compare page."""

import re
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pages.cached.runs import error_costs, load_run
from pages.cached.tree_pictures import pruning_steps
from tests.evaluation.comparison.trees import xor_tree
from tests.pages import stores
from tests.pages.shown import figures, page_text, viewers
from tests.pages.stores import add_run, table
from treelab.data.problem import make_problem
from treelab.data.synthetic_tables import greedy_trap
from treelab.evaluation.metrics import scores
from treelab.figures.style import learner_color
from treelab.learners.common.origin import Origin
from treelab.runs.jobs.fit import model_size
from treelab.runs.store.database import writing
from treelab.runs.store.workers import ProcessId
from treelab.trees.dates import decimal_years
from treelab.trees.losses import Loss
from treelab.trees.words import significant


def test_one_run_alone_has_nothing_to_be_compared_with(visit, store):
    add_run(store, "cart")
    app = visit("compare")
    assert "No other run has the test rows" in app.info[0].value


def test_runs_tested_on_other_rows_are_not_offered(visit, store):
    add_run(store, "cart")
    add_run(store, "gradtree", seed=1)
    add_run(store, "gradtree", "ripe")
    assert "No other run has the test rows" in visit("compare").info[0].value


@pytest.mark.slow
def test_a_run_that_was_killed_before_it_was_scored_is_scored_here(visit, store):
    runs = [add_run(store, learner) for learner in ("cart", "gradtree")]
    killed = add_run(store, "cart")
    with writing(store.database) as db:
        db.execute(
            "UPDATE runs SET state = 'interrupted', metrics = '{}' WHERE id = ?",
            (killed,),
        )
    app = visit("compare", first=killed, second=runs[1])
    assert not app.exception
    assert [app.selectbox(key=key).value for key in ("against", "bar-run")] == [
        killed,
        runs[1],
    ]
    text = page_text(app)
    assert "interrupted" in text
    assert "GradTree 0.963, CART 2 0.963, on the same 48 test rows" in text


def test_the_newest_cart_meets_the_newest_gradient_run(visit, store):
    add_run(store, "cart", title="old cart")
    cart = add_run(store, "cart", title="new cart")
    add_run(store, "gradtree", title="old")
    newest = add_run(store, "gradtree", title="new")
    add_run(store, "gradtree", "ripe")
    app = visit("compare", run=newest)
    assert app.selectbox(key="against").value == cart
    assert app.selectbox(key="bar-run").value == newest
    assert len(viewers(app)) == 2


def test_cart_is_compared_with_a_run_that_was_trained(visit, store):
    cart = add_run(store, "cart")
    trained = add_run(store, "gradtree", origin=Origin("random", True, 3, 3))
    add_run(store, "gradtree", origin=Origin("search", False, 3, 0))
    assert visit("compare", run=cart).selectbox(key="against").value == trained


def test_a_test_row_is_followed_through_both_trees(visit, store):
    add_run(store, "cart")
    add_run(store, "grande")
    app = visit("compare")
    app.number_input(key="compare-row").set_value(7).run()
    for view in viewers(app):
        (path,) = view["paths"]
        assert path["label"] == "test row 7"
        assert {node["key"] for node in view["trees"][0]["nodes"]} >= set(path["keys"])


def frontier_of(app) -> dict:
    """The figure of score against size, by the names of its lines."""
    (figure,) = (
        own for own in figures(app) if own["layout"]["xaxis"].get("type") == "log"
    )
    return {trace["name"]: trace for trace in figure["data"] if "name" in trace}


def test_every_run_with_the_same_test_rows_is_on_the_frontier(visit, store):
    runs = [add_run(store, learner) for learner in ("cart", "argmin", "gradtree")]
    add_run(store, "grande")
    add_run(store, "gradtree", seed=1, title="other rows")
    app = visit("compare", first=runs[0], second=runs[2])
    drawn = frontier_of(app)
    assert {name.split(",")[0] for name in drawn} == {
        "CART",
        "GradTree",
        "Argmin tree",
        "GRANDE",
    }
    loaded = load_run(store.run(runs[0]))
    steps = pruning_steps(loaded).table
    assert set(drawn["CART"]["x"]) == set(steps["leaves"]) - {1}
    assert max(drawn["CART"]["y"]) <= steps["test_score"].max()
    scores = next(own for own in app.button_group if own.label == "Scores on")
    scores.set_value("held_out").run()
    assert frontier_of(app)["CART"]["y"] != drawn["CART"]["y"]
    assert not app.exception


def test_a_run_whose_model_is_gone_leaves_the_others_on_the_frontier(visit, store):
    runs = [add_run(store, learner) for learner in ("cart", "gradtree", "argmin")]
    shutil.rmtree(store.folder(runs[2]) / "model")
    app = visit("compare", first=runs[0], second=runs[1])
    assert set(frontier_of(app)) == {"CART", "GradTree"}


@pytest.mark.parametrize(
    ("learner", "finding"),
    [
        ("get", "(95% CI), 48 test rows. No GET tree reaches that score."),
        ("gradtree", "GradTree and CART predict the same, 0.963, 48 test rows."),
    ],
)
def test_the_frontier_says_what_both_reach_at_one_size_when_asked(
    visit, store, learner, finding
):
    runs = [add_run(store, own) for own in ("cart", learner)]
    app = visit("compare", against=runs[0], run=runs[1])
    assert "With at most" not in page_text(app)  # one verdict at a time
    size = app.number_input(key=f"frontier-leaves-{runs[0]}-{runs[1]}")
    size.set_value(4).run()
    (words,) = (own.value for own in app.markdown if "With at most 4" in own.value)
    words = words.replace("\\", "")
    assert finding in words
    assert not app.exception


def test_errors_are_held_against_the_optimal_trees_of_the_depth(visit, store):
    runs = [add_run(store, learner) for learner in ("cart", "gradtree")]
    app = visit("compare", first=runs[0], second=runs[1])
    assert "of the optimal tree" not in page_text(app)
    loaded = load_run(store.run(add_run(store, "optimal")))
    X, y, _ = loaded.rows("fitted")
    wrong = int((loaded.model.predict(X) != y).sum())
    app = visit("compare", first=runs[0], second=runs[1])
    assert f"CART (depth 2): {wrong} errors, the optimal tree {wrong}" in page_text(app)
    more = add_run(store, "cart", columns=[*X.columns, "ripe"])  # not searched
    app = visit("compare", first=more, second=runs[1])
    assert "of the optimal tree" not in page_text(app)


def test_equal_trees_predict_the_same(visit, store):
    add_run(store, "cart")
    add_run(store, "gradtree")
    app = visit("compare")
    assert "GradTree and CART predict the same" in page_text(app)
    assert "No GradTree split clearly trades immediate for final gain" in page_text(app)
    assert "same on all 48 test rows" in page_text(open_part(app, "Errors"))


def test_a_better_run_is_named_with_its_interval(visit, store):
    add_run(store, "cart")
    add_run(store, "argmin")
    app = visit("compare")
    assert "CART is better than Argmin tree by" in app.header[0].value
    assert "CART − Argmin tree" in page_text(app).replace("\\", "")
    assert "on the same 48 test rows" in page_text(app)
    assert figures(app)[0]["data"][0]["line"]["color"] == learner_color("cart")


def test_runs_of_one_loss_are_compared_by_its_d2_those_of_two_by_r2(visit, store):
    median = {"target": "weight", "loss": Loss("absolute_error")}
    ids = [add_run(store, learner, **median) for learner in ("cart", "gradtree")]
    app = visit("compare", run=ids[1], against=ids[0])
    found = store.run(ids[1]).metrics["test"]["d2"]
    text = page_text(app).replace("\\", "")
    assert f"D²: GradTree {significant(found)}" in text
    assert app.dataframe[0].value.columns[0] == "D²"
    assert "Score against size" in page_text(app)
    mean = add_run(store, "optimal", target="weight")
    text = page_text(app := visit("compare", run=mean, against=ids[0]))
    assert "were trained for different losses" in text
    assert "R²: " in text.replace("\\", "")
    assert "Score against size" not in text
    assert app.dataframe[0].value.columns[0] == "R²"
    # Above each tree stands the score by which the two compare.
    r2 = significant(store.run(ids[0]).metrics["test"]["r2"])
    assert f"CART · {r2}" in text
    options = app.selectbox(key="bar-run").options
    assert [own.rsplit(" ", 1)[1] for own in options] == ["R²", "D²", "D²"]


def test_rows_on_which_they_differ_are_listed(visit, store):
    cart, other = add_run(store, "cart"), add_run(store, "argmin")
    problem = store.run(cart).problem
    X = problem.split(store.table(problem.table_id)).X_test
    differ = store.model(cart).predict(X) != store.model(other).predict(X)
    listed = open_part(visit("compare"), "Errors").dataframe[1].value
    assert len(listed) == differ.sum()
    assert set(listed["correct"]) <= {"CART", "Argmin tree", "neither"}
    store.set_title(other, "neither")
    again = open_part(visit("compare"), "Errors").dataframe[1].value
    named = listed["correct"].replace("Argmin tree", "neither (run)")
    assert again["correct"].tolist() == named.tolist()


@pytest.mark.slow
def test_dates_of_rows_are_written_as_dates(visit, store):
    days = pd.Series(pd.date_range("2019-03-01", periods=240))
    more = {
        "more": {"day": decimal_years(days)},
        "columns": [*table(1).columns[:3], "day"],
    }
    runs = [add_run(store, learner, **more) for learner in ("cart", "argmin")]
    listed = open_part(visit("compare"), "Errors").dataframe[1].value
    app = visit("tree", run=runs[0], node="r")
    app.button(key="node-rows").click().run()
    for rows in (listed, app.dataframe[0].value):
        assert rows["day"].str.fullmatch(r"20(19|20)-\d\d-\d\d").all()


def test_numbers_are_compared_by_which_is_closer(visit, store):
    add_run(store, "cart", "weight")
    add_run(store, "grande", "weight")
    app = open_part(visit("compare"), "Errors")
    assert "closer to the target" in page_text(app)
    assert len(app.dataframe[1].value) == 48


def test_two_runs_of_one_learner_keep_two_names(visit, store):
    add_run(store, "cart")
    add_run(store, "cart")
    assert "CART 2 and CART predict the same" in page_text(visit("compare"))


def test_runs_fitted_to_different_rows_say_so(visit, store):
    add_run(store, "cart")
    add_run(store, "gradtree")
    fitted = visit("compare").dataframe[0].value["fitted to"].to_dict()
    assert fitted == {
        "CART": "144 training rows",
        "GradTree": "192 training and validation rows",
    }


@pytest.mark.parametrize("learner", ["gradtree", "grande", "argmin"])
def test_two_trees_of_numbers_share_one_scale_of_colours(visit, store, learner):
    add_run(store, "cart", "weight")
    add_run(store, learner, "weight")
    views = viewers(visit("compare"))
    scales = [view["scale"] for view in views]
    assert scales[0] == scales[1]
    for view in views:
        leaves = [n for n in view["trees"][0]["nodes"] if "condition" not in n]
        for leaf in leaves:
            assert scales[0]["low"] <= leaf["mean"] <= scales[0]["high"]


def test_the_confusion_matrix_and_each_class_are_shown_of_both(visit, store):
    add_run(store, "cart")
    run = add_run(store, "argmin")
    app = open_part(visit("compare"), "Errors")
    matrices = [f["data"][0] for f in figures(app) if f["data"][0]["type"] == "heatmap"]
    assert len(matrices) == 3  # the last: how alike they predict
    listed = [each.value for each in app.dataframe if "recall" in each.value]
    assert len(listed) == 2
    assert [each["rows"].sum() for each in listed] == [48, 48]
    found = store.run(run).metrics["test"]["macro_f1"]
    assert listed[1]["F1"].mean() == pytest.approx(found)
    tree = visit("tree", tab="Scores", run=run)
    assert any("recall" in each.value for each in tree.dataframe)


def test_values_of_a_number_are_drawn_against_the_truth(visit, store):
    add_run(store, "cart", "weight")
    add_run(store, "gradtree", "weight")
    app = open_part(visit("compare"), "Errors")
    names = [head.value for head in app.header]
    assert "Predicted against true values" in names
    assert sum(f["data"][-1]["type"] == "scattergl" for f in figures(app)) == 2


def test_the_greedy_trap_tells_its_exclusive_or(visit, store):
    frame = greedy_trap(600)
    problem = make_problem(frame, "bar", table_id=store.add_table(frame, "trap"))
    split = problem.split(frame)
    tree = xor_tree(*split.rows("train")[:2])
    found = {
        part: scores(problem.task, y, tree.predict(X))
        for part in ("train", "valid", "test")
        for X, y, _ in [split.rows(part)]
    }
    for learner in ("cart", "gradtree"):
        run = store.create(learner, {}, problem)
        store.start(run, ProcessId.here())
        store.add_model(run, tree)
        store.finish(run, "done", metrics=found, summary=model_size(tree))
    app = visit("compare")
    assert "GradTree splits by furnace temperature" in app.subheader[0].value
    (words,) = (m.value for m in app.markdown if m.value.startswith("Immediate"))
    assert (
        "Columns furnace temperature and cooling rate predict bar only together"
        in words
    )
    gains = app.table[0].value
    assert gains.index.tolist() == ["GradTree", "greedy"]
    assert gains.shape == (2, 3)
    store.set_title(run, "greedy")
    renamed = visit("compare").table[0].value
    assert renamed.index.tolist() == ["greedy (run)", "greedy"]
    assert not [c for c in app.caption if "On a sample of" in c.value]


def test_greedy_trees_are_grown_on_a_sample_of_many_rows(visit, store, monkeypatch):
    monkeypatch.setattr("pages.cached.comparison.GREEDY_ROWS", 40)
    add_run(store, "cart")
    add_run(store, "gradtree")
    app = visit("compare")
    (told,) = (c.value for c in app.caption if "On a sample of" in c.value)
    assert told.startswith("On a sample of 40 of the ")


def open_part(app, part: str):
    """Open one of the closer looks, which only then is computed."""
    app.query_params["tab"] = part
    app.session_state["tab"] = part
    return app.run()


def test_trees_for_which_a_row_has_no_room_are_on_a_tab(visit, store):
    runs = [add_run(store, own) for own in ("cart", "gradtree", "argmin", "grande")]
    pair = {"first": runs[0], "second": runs[1]}
    assert len(viewers(visit("compare", **pair, others=runs[2]))) == 3
    app = visit("compare", **pair, others=",".join(runs[2:]))
    assert len(viewers(app)) == 2
    app = open_part(app, "Other trees")
    assert len(viewers(app)) == 4
    assert not app.exception


@pytest.mark.parametrize(
    "target", ["kind", pytest.param("weight", marks=pytest.mark.slow)]
)
def test_both_surfaces_are_drawn_over_two_number_columns(visit, store, target):
    add_run(store, "cart", target)
    add_run(store, "grande", target)
    app = open_part(visit("compare"), "Surfaces")
    surfaces = [f for f in figures(app) if f["data"][0]["type"] == "heatmap"]
    surfaces = [f for f in surfaces if len(f["data"]) > 1]
    assert len(surfaces) == 2
    assert "at the medians" in page_text(app)
    cart, grande = surfaces
    lines = [trace for trace in cart["data"] if trace.get("mode") == "lines"]
    assert len(lines) >= 1
    assert not [trace for trace in grande["data"] if trace.get("mode") == "lines"]
    if target == "weight":
        assert cart["data"][0]["zmin"] == grande["data"][0]["zmin"]
        check_residuals(app)
        return
    app.number_input(key="compare-row").set_value(7).run()
    assert "as in test row 7" in page_text(app)
    rings = [
        t for f in figures(app) for t in f["data"] if t.get("name") == "test row 7"
    ]
    assert len(rings) == 2


def check_residuals(app):
    """Both runs have a chart of residuals, on the same axes."""
    drawn = [
        figure["layout"]
        for figure in figures(open_part(app, "Errors"))
        if "true minus" in figure["layout"]["yaxis"].get("title", {}).get("text", "")
    ]
    assert len(drawn) == 2
    assert drawn[0]["yaxis"]["range"] == drawn[1]["yaxis"]["range"]


@pytest.mark.slow
def test_curves_and_costs_of_two_classes_follow_the_threshold(visit, store):
    runs = [add_run(store, learner, "ripe") for learner in ("cart", "grande")]
    app = open_part(visit("compare", first=runs[0], second=runs[1]), "Cost")
    assert "Area under the ROC curve" in page_text(app)
    label = app.selectbox(key=f"curve-class-{runs[0]}-{runs[1]}").value
    app.number_input(key=f"false-negative-{'-'.join(runs)}-{label}").set_value(4.0)
    app.slider(key="threshold").set_value(0.0).run()
    split = load_run(store.run(runs[0])).split
    rest = float((split.y_test != label).mean())
    (words,) = (m.value for m in app.markdown if m.value.startswith("Mean cost"))
    assert f"CART {rest:.3f}" in words
    assert not app.exception


def test_more_classes_have_a_cost_matrix(visit, store):
    runs = [add_run(store, learner) for learner in ("cart", "argmin")]
    app = open_part(visit("compare", first=runs[0], second=runs[1]), "Cost")
    assert "least expected cost" in page_text(app)
    assert not app.exception


@pytest.mark.slow
def test_costs_are_at_first_those_that_a_run_was_trained_by(visit, store):
    asked = {"constraints": {"class_costs": {"True": {"False": 7}}}}
    runs = [add_run(store, "grande", "ripe")]
    runs.append(add_run(store, "cart", "ripe", settings=asked, weight="weight"))
    runs[0] = add_run(store, "grande", "ripe", weight="weight")
    app = visit("compare", first=runs[0], second=runs[1])
    verdict = page_text(app)
    open_part(app, "Cost")
    label = app.selectbox(key=f"curve-class-{'-'.join(runs)}").value
    missed, false = (
        app.number_input(key=f"false-{side}-{'-'.join(runs)}-{label}").value
        for side in ("negative", "positive")
    )
    assert {missed, false} == {1.0, 7.0}
    assert (missed == 7.0) == (label is True or str(label) == "True")
    text = page_text(app)
    assert "costs are those by which CART was trained" in text
    loaded = load_run(store.run(runs[1]))
    X, y, weight = loaded.rows("test")
    predicted = loaded.model.predict(X)
    cost = np.where(y, 7, 1) * (predicted != y)
    mean = significant(float(np.average(cost, weights=weight)))
    (words,) = (m.value for m in app.markdown if m.value.startswith("Mean cost"))
    assert f"as it predicts {mean}" in words.split("CART")[1]
    assert "By the costs of errors by which CART was trained" in verdict
    assert f"{mean} with CART" in verdict


def test_a_cost_matrix_is_at_first_that_of_a_run(visit, store):
    asked = {"constraints": {"class_costs": {"small": {"fine": 5}}}}
    runs = [add_run(store, "argmin"), add_run(store, "cart", settings=asked)]
    app = open_part(visit("compare", first=runs[0], second=runs[1]), "Cost")
    assert "those by which CART was trained" in page_text(app)
    loaded = load_run(store.run(runs[1]))
    labels = ["fine", "small"]
    assert error_costs(loaded, labels).tolist() == [[0, 1], [5, 0]]
    assert error_costs(load_run(store.run(runs[0])), labels) is None


@pytest.mark.slow
def test_all_runs_with_the_same_test_rows_are_in_the_matrix(visit, store):
    runs = [add_run(store, learner) for learner in ("cart", "argmin", "grande")]
    add_run(store, "gradtree", seed=1)
    app = open_part(visit("compare", run=runs[0]), "Errors")
    (drawn,) = (
        figure["layout"]
        for figure in figures(app)
        if "GRANDE" in figure["layout"]["xaxis"].get("ticktext", [])
    )
    assert len(drawn["xaxis"]["ticktext"]) == 3
    assert "most alike" in page_text(app)
    labels = [button.label for button in open_part(app, "Repeats").button]
    assert "Repeat on more splits" in labels


@pytest.mark.slow
def test_learners_are_tested_over_the_seeds_that_both_have(visit, store):
    for seed in range(3):
        add_run(store, "cart", seed=seed)
        add_run(store, "argmin", seed=seed)
    add_run(store, "argmin", seed=7)
    add_run(store, "cart", seed=8, settings={"max_depth": 2})
    run = next(run.id for run in store.runs() if run.problem.seed == 2)
    app = open_part(visit("compare", run=run), "Repeats")
    assert "chance over 3 data splits" in page_text(app)
    assert not app.exception


@pytest.mark.slow
def test_learners_are_tested_over_folds_apart_from_other_splits(visit, store):
    for seed in range(2):
        for learner in ("cart", "argmin"):
            add_run(store, learner, seed=seed)
    for seed in range(5):
        for learner in ("cart", "argmin"):
            add_run(store, learner, seed=seed, n_folds=5)
    app = open_part(visit("compare"), "Repeats")
    assert not app.exception
    told = page_text(app)
    assert "chance over 5 folds" in told
    assert "chance over 2 data splits" in told


@pytest.mark.slow
def test_a_difference_over_splits_is_as_sure_whichever_run_is_first(visit, store):
    for seed in range(3):  # GradTree's trees are fitted to validation rows, too
        runs = [add_run(store, own, seed=seed) for own in ("argmin", "gradtree")]
    sure = []
    for run, against in (runs, runs[::-1]):
        app = open_part(visit("compare", run=run, against=against), "Repeats")
        sure.append(re.findall(r"p = [\d.]+", page_text(app).replace("\\", "")))
    assert len(sure[0]) == 2
    assert sure[0] == sure[1]


def test_a_score_that_only_one_run_has_leaves_the_other_cell_empty(
    visit, store, monkeypatch
):
    def with_interval(*arguments):
        tree = stores.single_tree(*arguments)
        ends = np.tile([-1.0, 99.0], (tree.n_nodes, 1))
        return replace(tree, interval=ends, interval_level=0.8)

    monkeypatch.setitem(stores.MAKERS, "cart", with_interval)
    runs = [add_run(store, learner, "weight") for learner in ("cart", "grande")]
    app = visit("compare", first=runs[0], second=runs[1])
    cells = app.dataframe[0].value["interval coverage"]
    assert [bool(cell) for cell in cells] == [True, False]
    assert cells.iloc[1] == ""
