"""The size slider of the Tree page, and its scores."""

import re
from dataclasses import replace

import numpy as np
import pytest
from streamlit.proto.Metric_pb2 import Metric as MetricProto

from pages.cached import tree_pictures as cached_steps
from pages.cached.predictions import predictions, score_differences
from pages.cached.runs import load_run, run_tree
from pages.cached.tree_pictures import pruning_steps, run_at
from tests.pages.shown import conditions, figures, page_text, viewers
from tests.pages.stores import add_run
from tests.runs.jobs.clustered import clustered
from treelab.data.builtin import BUILTIN
from treelab.evaluation.ensembles import counts_to_try, scores_of_heaviest
from treelab.evaluation.metrics import headline, scores
from treelab.evaluation.pruning import pruning_steps as measured_steps
from treelab.figures.viewer import payload
from treelab.learners.common.origin import Origin
from treelab.reports.tree_page import html_page
from treelab.trees.pruning import SMALLEST, SizePath
from treelab.trees.text import to_text
from treelab.trees.tree import Tree
from treelab.trees.words import significant


def slide(app, run: str, step: int):
    """Let the slider go at a step, large trees first."""
    app.session_state[f"size-{run}"] = step
    app.run()
    assert not app.exception
    return app


def facts(app) -> dict[str, str]:
    """The facts beside the tree."""
    (table,) = re.findall('<dl class="facts">.*?</dl>', page_text(app))
    return dict(re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", table))


@pytest.mark.parametrize(
    ("learner", "sizes", "score"),
    [
        ("cart", False, "macro F1 · test, 48 rows"),
        ("gradtree", True, "macro F1 · held-out rows"),
        ("argmin", False, "macro F1 · validation, 48 rows"),
    ],
)
def test_the_slider_holds_every_tree_of_the_path(store, visit, learner, sizes, score):
    run = add_run(store, learner, sizes=sizes)
    (view,) = viewers(visit("tree", run=run))
    steps = pruning_steps(load_run(store.run(run)))
    frames = view["frames"]
    assert len(view["trees"]) == len(steps.trees) == len(set(frames["labels"]))
    leaves = [len(conditions(view, i)) + 1 for i in range(len(steps.trees))]
    by_lambda = learner == "argmin"  # it grows to the right, where trees are smaller
    assert leaves == steps.table["leaves"].tolist()[:: 1 if by_lambda else -1]
    assert frames["name"] == ("λ" if by_lambda else "Leaves")
    assert frames["score_label"] == score
    own = steps.own if by_lambda else len(leaves) - 1 - steps.own
    assert frames["chosen"] == own
    assert own in [frame for frame, words in frames["marks"] if "retained" in words]
    assert any("smallest within" in words for _, words in frames["marks"])


def test_a_size_that_the_picture_leaves_out_is_the_nearest_one(
    visit, store, monkeypatch
):
    def without_the_middle(trees, frames):
        ends = [0, len(trees) - 1]
        return [trees[i] for i in ends], replace(frames, marks=[]).take(ends)

    monkeypatch.setattr(payload, "thinned", without_the_middle)
    run = add_run(store, "cart")
    steps = pruning_steps(load_run(store.run(run)))
    app = visit("tree", run=run, size="1")
    assert app.query_params["size"] == "2" == str(len(steps.trees) - 1)
    assert facts(app)["Leaves"] == str(steps.trees[2].n_leaves)


@pytest.mark.parametrize("learner", ["cart", "gradtree", "argmin"])
def test_all_below_is_of_the_tree_that_the_slider_shows(visit, store, learner):
    run = add_run(store, learner)
    app = visit("tree", run=run)
    own = facts(app)
    steps = pruning_steps(load_run(store.run(run)))
    last = len(steps.trees) - 1
    slide(app, run, last)
    assert app.query_params["size"] == str(last)
    small = steps.trees[last]
    assert facts(app)["Leaves"] == str(small.n_leaves) != own["Leaves"]
    assert page_text(app).count("<td class='if'>") == small.n_leaves
    assert "the retained tree" in app.metric[0].delta
    score = significant(steps.table["test_score"].iloc[last])
    assert app.metric[0].value == score or learner == "argmin"  # there its tree alone
    assert facts(visit("tree", run=run, size=str(last))) == facts(app)  # a link
    slide(app, run, steps.own)
    assert "size" not in app.query_params
    assert facts(app) == own


def test_the_page_of_another_size_is_of_that_tree(store):
    own = load_run(store.run(add_run(store, "cart")))
    small = run_at(own, len(pruning_steps(own).trees) - 1)
    assert small.model.n_leaves < own.model.n_leaves
    page = html_page(run_tree(small), store, small.run)
    assert to_text(run_tree(small)) in page


def test_the_tree_alone_may_predict_and_both_scores_are_shown(visit, store):
    def notes(app):
        return " ".join(viewers(app)[0]["trees"][0]["notes"])

    run = add_run(store, "argmin")
    loaded = load_run(store.run(run))
    path = loaded.model
    X, y, _ = loaded.split.rows("test")
    alone = scores(path.task, y, run_tree(loaded).predict(X))["macro_f1"]
    app = visit("tree", run=run)
    assert "predictor on top" in notes(app)
    assert app.metric[0].value == significant(alone)  # that of what is drawn leads
    stored = store.run(run).metrics["test"]["macro_f1"]
    assert f"predictions: {significant(stored)} macro F1" in page_text(app)
    who = app.button_group(key=f"predictor-{run}")
    assert who.options == [
        f"Predictor on top · {significant(stored)}",
        f"Tree alone · {significant(alone)}",
    ]
    who.set_value(True).run()
    assert app.metric[0].value == significant(alone)
    assert "predictor on top" not in notes(app)
    steps = pruning_steps(loaded, tree_alone=True)
    assert steps.table["test_score"].iloc[path.chosen] == pytest.approx(alone)


def test_curves_name_their_rows(visit, store):
    figure = figures(visit("tree", tab="Scores", run=add_run(store, "cart")))[0]
    names = {trace.get("name") for trace in figure["data"]}
    assert {"validation, 48 rows", "test, 48 rows", "leaves"} <= names


def test_the_slider_moves_a_line_and_leaves_the_curves_as_they_are(visit, store):
    def line(app):
        (found,) = [
            h.proto.body for h in app.get("html") if 'class="line"' in h.proto.body
        ]
        return found

    run = add_run(store, "cart")
    app = visit("tree", tab="Scores", run=run)
    slide(app, run, 0)
    curves, at_first = figures(app)[0], line(app)
    slide(app, run, 1)
    assert figures(app)[0] == curves
    assert line(app) != at_first


@pytest.mark.slow
@pytest.mark.parametrize("target", ["kind", "weight"])
def test_an_ensembles_dial_shows_what_fewer_trees_score(visit, store, target):
    run = add_run(store, "grande", target)
    model = store.model(run)
    X, y, _ = load_run(store.run(run)).split.rows("test")
    app = visit("tree", tab="Scores", run=run)
    counts = counts_to_try(model)
    of_test = scores_of_heaviest(model, X, y, counts)
    for place, at in enumerate(of_test):
        app.select_slider[0].set_value(place).run()
        assert app.header[0].value.startswith(significant(at))
        assert significant(of_test[-1]) in app.header[0].value
    figure = figures(app)[0]
    assert len([trace for trace in figure["data"] if "name" in trace]) == 2
    assert not app.exception


def test_trees_of_equal_weight_have_no_dial(visit, store):
    run = add_run(store, "grande")
    equal = replace(
        store.model(run), leaf_weight=np.zeros_like(store.model(run).leaf_weight)
    )
    store.add_model(run, equal)
    app = visit("tree", tab="Scores", run=run)
    assert not app.select_slider
    assert "have the same weight" in page_text(app)


@pytest.mark.parametrize("learner", ["cart", "argmin"])
def test_sliding_measures_no_tree_again(visit, store, learner, monkeypatch):
    run = add_run(store, learner)
    app = visit("tree", tab="Scores", run=run)
    shown = facts(app)

    def refuse(*_, **__):
        raise AssertionError("The path was measured again.")

    monkeypatch.setattr(cached_steps.pruning, "pruning_steps", refuse)
    slide(app, run, 2)
    assert facts(app) != shown


def test_clusters_held_against_labels_show_how_pure_they_are(visit, store):
    iris = BUILTIN["iris"]
    run = clustered(store, iris.load(), known=iris.target, max_epochs=5)
    figure = figures(visit("tree", tab="Scores", run=run))[0]
    assert "purity of clusters" in {trace.get("name") for trace in figure["data"]}


def test_without_labels_clusters_are_not_scored_against_themselves(visit, store):
    iris = BUILTIN["iris"]
    run = clustered(store, iris.load().drop(columns=iris.target), max_epochs=5)
    app = visit("tree", tab="Scores", run=run)
    assert not app.exception
    assert "F1" not in page_text(app)
    assert "No labels are known" in page_text(app)
    (figure,) = figures(app)
    names = {trace.get("name") for trace in figure["data"]}
    assert "validation loss" in names
    app.toggle(key="two-sizes").set_value(True).run()
    assert "validation loss" in app.header[0].value
    assert len(viewers(app)) == 3
    assert not app.exception
    assert not any("test" in (name or "") or "purity" in (name or "") for name in names)


def test_a_run_that_knows_its_trees_by_size_is_judged_on_held_out_rows(store, visit):
    app = visit("tree", tab="Scores", run=add_run(store, "gradtree", sizes=True))
    figure = figures(app)[0]
    curves = {trace.get("name"): trace for trace in figure["data"]}
    assert curves["held-out rows, 192 rows"]["error_y"]["array"]
    assert "retained, smallest within one standard error" in curves
    assert not any("validation" in (name or "") for name in curves)  # it learned them
    (view,) = viewers(app)
    assert view["frames"]["labels"][view["frames"]["chosen"]] == "4 leaves"
    text = page_text(app).replace("\\", "")
    assert "each row by a tree that was not fitted to it" in text


def test_a_size_that_is_not_the_smallest_within_an_error_is_not_called_so(store):
    loaded = load_run(store.run(add_run(store, "get", sizes=True)))
    path, about = store.path(loaded.run.id), (loaded.split, loaded.fitted_split)
    for rule, mark in ((SMALLEST, f"retained, {SMALLEST}"), ("", "retained")):
        stored, arrays = replace(path, rule=rule).pack()
        before = {name: own for name, own in stored.items() if name != "rule"}
        for settings in (stored, before | {"is_smallest": bool(rule)}):
            own = SizePath.unpack(settings, arrays)
            steps = measured_steps(loaded.model, own, *about)
            assert steps.marks[steps.own] == mark
    steps = measured_steps(loaded.model, SizePath.unpack(before, arrays), *about)
    assert steps.marks[steps.own] == "retained"  # stored before there were rules


def test_a_change_of_the_score_by_size_has_a_colour_only_beyond_chance(store, visit):
    run = add_run(store, "cart", "weight")
    app, loaded = visit("tree", run=run), load_run(store.run(run))
    steps, seen = pruning_steps(loaded), set()
    for step in range(len(steps.trees)):
        if step == steps.own:
            continue
        slide(app, run, step)
        found = score_differences(loaded, run_at(loaded, step))[loaded.headline]
        is_grey = app.metric[0].proto.color == MetricProto.MetricColor.GRAY
        assert is_grey == (not found.clear)
        seen.add(is_grey)
    assert seen == {True, False}


@pytest.mark.slow
def test_the_kind_of_path_is_said_in_words(store, visit):
    argmin = page_text(visit("tree", tab="Scores", run=add_run(store, "argmin")))
    assert "these are different trees, not prunings of one" in argmin
    cart = page_text(visit("tree", tab="Scores", run=add_run(store, "cart")))
    assert "One tree, cut back more and more" in cart


@pytest.mark.parametrize(
    ("learner", "sizes"),
    [
        ("cart", False),
        ("gradtree", True),
        pytest.param("argmin", False, marks=pytest.mark.slow),
    ],
)
def test_a_tree_of_the_path_becomes_a_run(store, visit, learner, sizes):
    run = add_run(store, learner, sizes=sizes, origin=Origin("greedy", True, 3, 2))
    app = visit("tree", tab="Scores", run=run)
    assert app.button(key=f"use-{run}").disabled
    n_steps = len(pruning_steps(load_run(store.run(run))).trees)
    slide(app, run, n_steps - 2 + (learner == "argmin"))
    shown = app.metric[0].value, page_text(app)
    app.button(key=f"use-{run}").click().run()
    app.button(key=f"use-{run}").click().run()  # the same again is the same run
    assert len(store.runs()) == 2
    saved = store.runs()[0]
    assert saved.id != run
    assert saved.learner == learner
    assert saved.state == "done"
    assert saved.summary["leaves"] < store.run(run).summary["leaves"]
    score = significant(saved.metrics["test"]["macro_f1"])
    assert score == shown[0] or f"{score} macro F1" in shown[1]
    assert "Chosen by hand on the pruning path" in saved.provenance
    assert "Began as a greedy tree" in saved.provenance
    tree = visit("tree", tab="Scores", run=saved.id)
    assert saved.provenance in page_text(tree).replace("\\", "")
    (view,) = viewers(tree)
    assert len(conditions(view)) == saved.summary["splits"]
    assert f"{score} (chosen by hand)" in page_text(visit("train", run=saved.id))
    assert saved.title in visit("runs").dataframe[0].value["name"].tolist()
    beside = visit("compare", first=run, second=saved.id)
    assert beside.selectbox(key="bar-run").value == saved.id
    assert facts(tree)["Leaves"] == str(saved.summary["leaves"])


@pytest.mark.slow
def test_the_runs_own_tree_is_not_saved_twice(store, visit):
    run = add_run(store, "argmin")
    app = visit("tree", tab="Scores", run=run)
    assert app.button(key=f"use-{run}").disabled
    app.button_group(key=f"predictor-{run}").set_value(True).run()
    assert not app.button(key=f"use-{run}").disabled
    app.button(key=f"use-{run}").click().run()
    alone = store.model(store.runs()[0].id)
    assert isinstance(alone, Tree)
    assert store.runs()[0].title.endswith("tree alone")


@pytest.mark.slow
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
    app = visit("tree", tab="Scores", run=run)
    app.toggle(key="two-sizes").set_value(True).run()
    last = len(app.select_slider[0].options) - 1
    app.select_slider(key=f"pair-{run}").set_value((0, last)).run()
    assert not app.exception
    large, small = (len(conditions(view)) for view in viewers(app)[1:])
    assert large > small
    loaded = load_run(store.run(run))
    steps = pruning_steps(loaded)
    first, second = (predictions(run_at(loaded, step), "test") for step in (0, last))
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
    assert all(len(view["paths"]) == 1 for view in viewers(app)[1:])
    app.select_slider(key=f"pair-{run}").set_value((0, 0)).run()
    assert "Move one end" in app.info[0].value
