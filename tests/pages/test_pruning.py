"""The Pruning page."""

from dataclasses import replace

import numpy as np
import pytest

from pages.cached import tree_pictures as cached_steps
from pages.cached.runs import load_run, run_tree
from pages.cached.tree_pictures import pruning_steps, step_predictions
from tests.pages.shown import conditions, figures, page_text, viewers
from tests.pages.stores import add_run
from tests.runs.jobs.clustered import clustered
from treelab.data.builtin import BUILTIN
from treelab.evaluation.ensembles import counts_to_try, scores_of_heaviest
from treelab.evaluation.metrics import headline, scores
from treelab.learners.common.origin import Origin
from treelab.trees.tree import Tree
from treelab.trees.words import significant


def slide(app, step: int):
    """Move the slider to a step."""
    slider = app.select_slider[0]
    return slider.set_value(step).run()


@pytest.mark.parametrize("learner", ["cart", "gradtree", "argmin"])
def test_sliding_to_the_end_leaves_a_smaller_tree(visit, store, learner):
    app = visit("pruning", run=add_run(store, learner))
    slide(app, 0)
    large = len(conditions(viewers(app)[0]))
    slide(app, len(app.select_slider[0].options) - 1)
    assert len(conditions(viewers(app)[0])) < large
    assert not app.exception


def test_a_trained_path_starts_where_training_chose(visit, store):
    app = visit("pruning", run=add_run(store, "argmin"))
    assert app.select_slider[0].value == 1
    assert "Validation rows chose the strength" in page_text(app)


def test_the_tree_alone_may_predict_and_both_scores_are_shown(visit, store):
    def notes(app):
        return " ".join(viewers(app)[0]["trees"][0]["notes"])

    run = add_run(store, "argmin")
    loaded = load_run(store.run(run))
    path = loaded.model
    X, y = loaded.split.rows("test")
    alone = scores(path.task, y, run_tree(loaded).predict(X))["macro_f1"]
    app = visit("pruning", run=run)
    assert "predictor on top" in notes(app)
    who = app.button_group(key=f"predictor-{run}")
    shown = who.options
    stored = store.run(run).metrics["test"]["macro_f1"]
    assert shown == [
        f"Predictor on top · {significant(stored)}",
        f"Tree alone · {significant(alone)}",
    ]
    who.set_value(True).run()
    assert significant(alone) in app.header[0].value
    assert "predictor on top" not in notes(app)
    steps = pruning_steps(loaded, tree_alone=True)
    assert steps.table["test_score"].iloc[path.chosen] == pytest.approx(alone)
    tree = visit("tree", run=run)
    assert tree.metric[0].value == significant(alone)  # that of what is drawn leads
    assert f"predictions: {significant(stored)} macro F1" in page_text(tree)


def test_curves_name_their_rows(visit, store):
    (figure,) = figures(visit("pruning", run=add_run(store, "cart")))
    names = {trace.get("name") for trace in figure["data"]}
    assert {"validation, 48 rows", "test, 48 rows", "leaves"} <= names


def test_the_slider_moves_a_line_and_leaves_the_curves_as_they_are(visit, store):
    def line(app):
        (found,) = [
            h.proto.body for h in app.get("html") if 'class="line"' in h.proto.body
        ]
        return found

    app = visit("pruning", run=add_run(store, "cart"))
    slide(app, 0)
    curves, at_first = figures(app), line(app)
    slide(app, len(app.select_slider[0].options) - 1)
    assert figures(app) == curves
    assert line(app) != at_first


def test_the_routing_of_a_class_is_one_click_away(visit, store):
    app = visit("pruning", run=add_run(store, "argmin"))
    app.button_group[-1].set_value("Routing of rough").run()
    assert not app.exception
    assert len(figures(app)) == 2
    assert not viewers(app)


@pytest.mark.parametrize("target", ["kind", "weight"])
def test_an_ensembles_dial_shows_what_fewer_trees_score(visit, store, target):
    run = add_run(store, "grande", target)
    model = store.model(run)
    X, y = load_run(store.run(run)).split.rows("test")
    app = visit("pruning", run=run)
    counts = counts_to_try(model)
    of_test = scores_of_heaviest(model, X, y, counts)
    for place, at in enumerate(of_test):
        slide(app, place)
        assert app.header[0].value.startswith(significant(at))
        assert significant(of_test[-1]) in app.header[0].value
    (figure,) = figures(app)
    assert len([trace for trace in figure["data"] if "name" in trace]) == 2
    assert not app.exception


def test_trees_of_equal_weight_have_no_dial(visit, store):
    run = add_run(store, "grande")
    equal = replace(
        store.model(run), leaf_weight=np.zeros_like(store.model(run).leaf_weight)
    )
    store.add_model(run, equal)
    app = visit("pruning", run=run)
    assert not app.select_slider
    assert "have the same weight" in page_text(app)


@pytest.mark.parametrize("learner", ["cart", "argmin"])
def test_sliding_measures_no_tree_again(visit, store, learner, monkeypatch):
    app = visit("pruning", run=add_run(store, learner))
    shown = app.header[0].value

    def refuse(*_, **__):
        raise AssertionError("The path was measured again.")

    monkeypatch.setattr(cached_steps.pruning_table, "pruning_steps", refuse)
    step = app.select_slider[0].value
    slide(app, 0 if step else 1)
    assert not app.exception
    assert app.header[0].value != shown


def test_clusters_held_against_labels_show_how_pure_they_are(visit, store):
    iris = BUILTIN["iris"]
    run = clustered(store, iris.load(), known=iris.target, max_epochs=5)
    (figure,) = figures(visit("pruning", run=run))
    assert "purity of clusters" in {trace.get("name") for trace in figure["data"]}


def test_without_labels_clusters_are_not_scored_against_themselves(visit, store):
    iris = BUILTIN["iris"]
    run = clustered(store, iris.load().drop(columns=iris.target), max_epochs=5)
    app = visit("pruning", run=run)
    assert not app.exception
    assert "validation loss" in app.header[0].value
    assert "F1" not in app.header[0].value
    assert "No labels are known" in page_text(app)
    (figure,) = figures(app)
    names = {trace.get("name") for trace in figure["data"]}
    assert "validation loss" in names
    app.button_group(key=f"pruning-view-{run}").set_value("Two sizes").run()
    assert "validation loss" in app.header[0].value
    assert len(viewers(app)) == 2
    assert not app.exception
    assert not any("test" in (name or "") or "purity" in (name or "") for name in names)


def test_a_run_that_knows_its_trees_by_size_is_judged_on_held_out_rows(store, visit):
    app = visit("pruning", run=add_run(store, "gradtree", sizes=True))
    (figure,) = figures(app)
    curves = {trace.get("name"): trace for trace in figure["data"]}
    assert curves["held-out rows, 192 rows"]["error_y"]["array"]
    assert "chosen" in curves
    assert not any("validation" in (name or "") for name in curves)  # it learned them
    assert "knee" not in curves
    assert app.select_slider[0].options[0] == "4 leaves"
    assert app.select_slider[0].value == 0
    text = page_text(app).replace("\\", "")
    assert "Chosen: 4 leaves, 0.900." in text
    assert "each row by a tree that was not fitted to it" in text


def test_the_kind_of_path_is_said_in_words(store, visit):
    argmin = page_text(visit("pruning", run=add_run(store, "argmin")))
    assert "these are different trees, not prunings of one" in argmin
    cart = page_text(visit("pruning", run=add_run(store, "cart")))
    assert "One tree, cut back more and more" in cart


@pytest.mark.parametrize(
    ("learner", "sizes", "label"),
    [
        ("cart", False, "Use this size"),
        ("gradtree", True, "Use this size"),
        pytest.param("argmin", False, "Use this lambda", marks=pytest.mark.slow),
    ],
)
def test_a_tree_of_the_path_becomes_a_run(store, visit, learner, sizes, label):
    run = add_run(store, learner, sizes=sizes, origin=Origin("greedy", True, 3, 2))
    app = visit("pruning", run=run)
    slide(app, 0)
    assert app.button(key=f"use-{run}").label == label
    slide(app, len(app.select_slider[0].options) - 2 + (learner == "argmin"))
    shown = app.header[0].value
    app.button(key=f"use-{run}").click().run()
    app.button(key=f"use-{run}").click().run()  # the same again is the same run
    assert len(store.runs()) == 2
    saved = store.runs()[0]
    assert saved.id != run
    assert saved.learner == learner
    assert saved.state == "done"
    assert saved.summary["leaves"] < store.run(run).summary["leaves"]
    score = significant(saved.metrics["test"]["macro_f1"])
    assert f", {score} macro F1" in shown.replace("\\", "")
    assert "Chosen by hand on the pruning path" in saved.provenance
    assert "Began as a greedy tree" in saved.provenance
    tree = visit("tree", run=saved.id)
    assert saved.provenance in page_text(tree).replace("\\", "")
    assert len(conditions(viewers(tree)[0])) == saved.summary["splits"]
    assert f"{score} (chosen by hand)" in page_text(visit("train", run=saved.id))
    assert saved.title in visit("runs").dataframe[0].value["name"].tolist()
    beside = visit("compare", first=run, second=saved.id)
    assert beside.selectbox(key="bar-run").value == saved.id
    again = visit("pruning", run=saved.id)
    assert f"{saved.summary['leaves']} lea" in again.header[0].value


def test_the_runs_own_tree_is_not_saved_twice(store, visit):
    run = add_run(store, "argmin")
    app = visit("pruning", run=run)
    assert app.button(key=f"use-{run}").disabled
    app.button_group(key=f"predictor-{run}").set_value(True).run()
    assert not app.button(key=f"use-{run}").disabled
    app.button(key=f"use-{run}").click().run()
    alone = store.model(store.runs()[0].id)
    assert isinstance(alone, Tree)
    assert store.runs()[0].title.endswith("tree alone")


@pytest.mark.parametrize(
    ("learner", "sizes", "score"),
    [
        ("cart", False, "macro F1 · test, 48 rows"),
        ("gradtree", True, "macro F1 · held-out rows"),
        ("argmin", False, "macro F1 · validation, 48 rows"),
    ],
)
def test_a_scrubber_moves_through_all_sizes(store, visit, learner, sizes, score):
    run = add_run(store, learner, sizes=sizes)
    app = visit("pruning", run=run)
    app.button_group(key=f"pruning-view-{run}").set_value("All sizes").run()
    (view,) = viewers(app)
    steps = pruning_steps(load_run(store.run(run)))
    assert len(view["trees"]) == len(steps.trees) == len(set(view["frames"]["labels"]))
    leaves = [len(conditions(view, i)) + 1 for i in range(len(steps.trees))]
    assert leaves == steps.table["leaves"].tolist()
    assert view["frames"]["score_label"] == score
    assert view["frames"]["chosen"] == (steps.chosen or 0)


@pytest.mark.parametrize(
    ("learner", "sizes", "target"),
    [
        ("cart", False, "kind"),
        ("gradtree", True, "kind"),
        ("argmin", False, "kind"),
        ("cart", False, "weight"),
    ],
)
def test_two_sizes_stand_side_by_side_with_the_rows_that_change(
    store, visit, learner, sizes, target
):
    run = add_run(store, learner, target, sizes=sizes)
    app = visit("pruning", run=run)
    app.button_group(key=f"pruning-view-{run}").set_value("Two sizes").run()
    last = len(app.select_slider[0].options) - 1
    app.select_slider(key=f"pair-{run}").set_value((0, last)).run()
    assert not app.exception
    large, small = (len(conditions(view)) for view in viewers(app))
    assert large > small
    loaded = load_run(store.run(run))
    steps = pruning_steps(loaded)
    first, second = (
        step_predictions(loaded, steps, step, tree_alone=False) for step in (0, last)
    )
    task = loaded.run.problem.task
    for step, predicted in ((0, first), (last, second)):
        score = scores(task, loaded.split.y_test, predicted)[headline(task)]
        assert score == pytest.approx(steps.table["test_score"].iloc[step])
        assert significant(score) in app.header[0].value.replace("\\", "")
    changed = app.dataframe[0].value
    assert len(changed) == (first != second).sum()
    if target == "kind":
        assert f"{len(changed)} of 48 test rows change" in app.header[0].value
    row = int(changed["test row"].iloc[0])
    app.selectbox(key=f"pair-row-{run}").set_value(row - 1).run()
    assert all(len(view["paths"]) == 1 for view in viewers(app))
    app.select_slider(key=f"pair-{run}").set_value((0, 0)).run()
    assert "Move one end" in app.info[0].value
