"""An edited tree as a run: retained, regrown, trained around; replayed alike."""

from dataclasses import replace

import numpy as np
import pytest

from tests.pages.stores import add_run
from treelab.data.builtin import BUILTIN
from treelab.data.problem import make_problem
from treelab.editing.edited import Edited
from treelab.editing.edits import Forbid, Lock, Prune, SetThreshold
from treelab.editing.log import EditLog, Training, tree_hash
from treelab.editing.paths import node_of
from treelab.learners.get import around
from treelab.runs.jobs.edited import bench_of, create_trained, save_edited
from treelab.runs.jobs.run_one import run_one
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.trees.constraints import Constraints, cost_matrix, violations
from treelab.trees.tree import Tree

QUICK = {
    "gradtree": {"n_steps": 15, "n_restarts": 2},
    "get": {"n_steps": 60, "n_starts": 2},
}
LOCK_ROOT = (Lock(""), Forbid("", "colour"))


@pytest.fixture
def store(tmp_path) -> RunStore:
    return RunStore(tmp_path / "home")


def edited_run(
    store: RunStore, learner: str, *edits, target: str = "kind", **more
) -> tuple[Run, EditLog]:
    """A run, and a log of edits of its tree."""
    run = store.run(add_run(store, learner, target))
    split = run.problem.split(store.table(run.problem.table_id))
    bench = bench_of(store.model(run.id), split)
    return run, EditLog(tree_hash(bench.tree), edits, **more)


def trained(store: RunStore, run: Run, log: EditLog) -> Run:
    """The finished run of a log's training."""
    quick = QUICK.get(run.learner, run.settings)
    run_id = create_trained(store, replace(run, settings=quick), log)
    assert run_one(run_id, store.home) == "done", store.run(run_id).error
    return store.run(run_id)


def same_split(one: Tree, other: Tree, path: str) -> bool:
    """Whether two trees have the very same split somewhere."""
    here, there = node_of(one, path), node_of(other, path)
    names = ("feature", "threshold", "missing_left")
    return all(getattr(one, n)[here] == getattr(other, n)[there] for n in names)


def test_an_edited_tree_is_a_child_of_its_run(store):
    run, log = edited_run(store, "gradtree", Prune("L"), seen_test=0)
    saved = store.run(save_edited(store, run, log))
    assert saved.summary["edited_from"] == run.id
    assert saved.title == "GradTree, 1 edit"
    assert "after 0 edits" in saved.provenance
    assert store.model(saved.id).notes[0] == saved.provenance
    assert {*saved.metrics} == {"train", "valid", "test"}
    assert saved.fitted_split == run.fitted_split
    assert EditLog.from_json(store.plan(saved.id, "edits")) == replace(log, run=run.id)
    assert save_edited(store, run, log) == saved.id
    assert store.plan(run.id, "edits") is None


def test_trained_around_the_root_stays_and_the_column_goes(store):
    training = Training("gradtree")
    run, log = edited_run(store, "gradtree", *LOCK_ROOT, training=training)
    first, second = (trained(store, run, log) for _ in range(2))
    tree, before = store.model(first.id), store.model(run.id)
    assert same_split(tree, before, "")
    assert "colour" not in tree.columns
    assert first.origin.start == "edited"
    assert "training changed" in first.provenance or "Equals" in first.provenance
    assert run.title in first.summary["notes"][0]
    assert tree_hash(tree) == tree_hash(store.model(second.id))


@pytest.mark.parametrize("target", ["kind", "weight"])
def test_get_moves_the_sums_that_are_free(store, target):
    edits = (Lock("L"), Forbid("R", "colour"))
    run, log = edited_run(store, "get", *edits, training=Training("get"), target=target)
    child = trained(store, run, log)
    tree, before = store.model(child.id), store.model(run.id)
    here, there = node_of(tree, "L"), node_of(before, "L")
    assert (tree.weights[here] == before.weights[there]).all()
    assert same_split(tree, before, "L")
    assert child.origin.n_changed > 0
    assert tree.weights[node_of(tree, "R"), 2] == 0


def test_where_nothing_is_free_training_says_so(store):
    training = Training("gradtree")
    run, log = edited_run(store, "cart", Lock("", True), training=training)
    run_id = create_trained(store, run, log)
    assert run_one(run_id, store.home) == "failed"
    assert "every split is locked" in store.run(run_id).error


@pytest.mark.parametrize("learner", ["cart", "gradtree"])
def test_a_branch_is_regrown_and_all_else_stays(store, learner):
    training = Training(learner, "R", 3)
    edits = (Forbid("R", "texture $x$"),)
    run, log = edited_run(store, "cart", *edits, training=training)
    child = trained(store, run, log)
    tree, before = store.model(child.id), store.model(run.id)
    assert same_split(tree, before, "")
    assert same_split(tree, before, "L")
    inside = [
        tree.features[tree.feature[node]].column
        for node in range(tree.n_nodes)
        if not tree.is_leaf[node] and node_of(tree, "R") in tree.path_to(node)
    ]
    assert "texture $x$" not in inside
    assert child.origin.trained == (learner == "gradtree")


def test_what_does_not_fit_is_refused_before_a_run_is_made(store):
    run, log = edited_run(store, "cart", SetThreshold("LLLL", 1.0))
    with pytest.raises(ValueError, match="no node"):
        create_trained(store, run, replace(log, training=Training("gradtree")))
    with pytest.raises(ValueError, match="another tree"):
        save_edited(store, run, replace(log, tree="else", edits=()))
    with pytest.raises(ValueError, match="holds no edit"):
        save_edited(store, run, replace(log, edits=()))
    with pytest.raises(ValueError, match="name a learner"):
        create_trained(store, run, log)
    ensemble = store.run(add_run(store, "grande"))
    with pytest.raises(ValueError, match="ensemble"):
        save_edited(store, ensemble, log)
    assert len(store.runs()) == 2


def test_a_run_whose_parent_is_gone_says_so(store):
    run, log = edited_run(store, "cart", training=Training("cart", ""))
    run_id = create_trained(store, run, log)
    store.delete(run.id)
    assert run_one(run_id, store.home) == "failed"
    assert "is gone" in store.run(run_id).error


def test_sums_and_paths_of_trees_can_be_edited(store):
    for learner in ("get", "argmin"):
        run, log = edited_run(store, learner, SetThreshold("", 13.0), Lock(""))
        saved = store.run(save_edited(store, run, log))
        assert store.model(saved.id).threshold[0] == 13.0


def test_what_edits_leave_out_of_the_first_model_is_said(store):
    run, log = edited_run(store, "argmin", Prune(""))
    saved = store.run(save_edited(store, run, log))
    assert "predictor on top of the first tree is left out" in str(saved.summary)
    options = {"settings": {"constraints": {"monotone": {"radius": "up"}}}}
    constrained = store.run(add_run(store, "cart", "weight", **options))
    split = constrained.problem.split(store.table(constrained.problem.table_id))
    bench = bench_of(store.model(constrained.id), split)
    edits = (SetThreshold("", 12.0),)
    child = store.run(
        save_edited(store, constrained, EditLog(tree_hash(bench.tree), edits))
    )
    assert "constraints (prediction up with radius) are kept" in str(
        child.summary["notes"]
    )
    assert child.settings["constraints"] == {"monotone": {"radius": "up"}}


def test_training_around_keeps_the_run_s_constraints(store):
    asked = {"monotone": {"radius": "up"}, "min_samples_leaf": 12, "max_columns": 3}
    options = {"settings": {"constraints": asked}}
    run = store.run(add_run(store, "cart", "weight", **options))
    split = run.problem.split(store.table(run.problem.table_id))
    tree = bench_of(store.model(run.id), split).tree
    log = EditLog(tree_hash(tree), training=Training("gradtree"))
    quick = QUICK["gradtree"] | {"constraints": asked}
    child = create_trained(store, replace(run, learner="gradtree", settings=quick), log)
    assert run_one(child, store.home) == "done", store.run(child).error
    assert not violations(store.model(child), Constraints.read(asked))
    kept = Constraints.read(store.run(child).settings["constraints"])
    assert kept == Constraints.read(asked)
    assert "Constraint dropped" not in str(store.run(child).summary["notes"])
    with pytest.raises(ValueError, match="GET cannot keep"):
        create_trained(store, run, replace(log, training=Training("get")))


def test_get_trains_an_edited_tree_by_the_costs_of_its_run(store, monkeypatch):
    asked = QUICK["get"] | {"constraints": {"class_costs": {"True": {"False": 9.0}}}}
    made = store.run(add_run(store, "get", "ripe"))
    run_id = store.create("get", asked, made.problem)
    assert run_one(run_id, store.home) == "done", store.run(run_id).error
    run, weights, train = store.run(run_id), [], around.train_stages

    def seen(search, *rest):
        weights.extend(search.rows.weight.tolist())
        return train(search, *rest)

    monkeypatch.setattr(around, "train_stages", seen)
    log = EditLog(tree_hash(store.model(run_id)), (), training=Training("get"))
    child = create_trained(store, run, log)
    assert run_one(child, store.home) == "done", store.run(child).error
    assert sorted({*weights}) == pytest.approx([1 / 9, 1])
    assert store.run(child).constraints == run.constraints


@pytest.mark.parametrize("learner", ["cart", "gradtree", "get"])
def test_costs_between_three_classes_are_those_of_an_edited_tree_too(store, learner):
    made = store.run(add_run(store, learner, "kind"))
    costs = {
        "fine": {"rough": 1.0, "small": 4.0},
        "rough": {"fine": 9.0, "small": 2.0},
        "small": {"fine": 3.0},
    }
    asked = QUICK.get(learner, {}) | {"constraints": {"class_costs": costs}}
    run_id = store.create(learner, asked, made.problem)
    assert run_one(run_id, store.home) == "done", store.run(run_id).error
    run, tree = store.run(run_id), store.model(run_id)
    log = EditLog(tree_hash(tree), (Prune("L" * (tree.n_splits > 1)),))
    training = replace(log, training=Training(learner, below="L"))
    child = create_trained(store, run, training)
    assert run_one(child, store.home) == "done", store.run(child).error
    for edited in map(store.model, (save_edited(store, run, log), child)):
        matrix = cost_matrix(run.constraints, edited.classes)
        cheapest = (edited.value @ matrix).argmin(axis=1)
        assert (edited.predicted_class == cheapest).all()


@pytest.mark.parametrize("target", ["kind", "weight"])
@pytest.mark.parametrize("learner", ["cart", "gradtree", "get"])
def test_leaves_of_weighted_rows_are_fitted_by_these_weights(store, learner, target):
    years = np.random.default_rng(0).uniform(0.1, 3, 240).round(1)
    more = {"years": years}
    run = store.run(add_run(store, "cart", target, weight="years", more=more))
    log = EditLog(tree_hash(store.model(run.id)), (Lock(""),))
    for below in ("", None) if learner != "cart" else ("",):
        training = replace(log, training=Training(learner, below=below))
        child = create_trained(store, run, training)
        quick = store.run(child).settings | QUICK.get(learner, {})
        store.set_settings(child, quick)
        assert run_one(child, store.home) == "done", store.run(child).error
        tree = store.model(child)
        X, y, weight = run.problem.split(store.table(run.problem.table_id)).rows(
            "train"
        )
        leaf = tree.apply(X)
        truth = y.to_numpy()[:, None]
        if tree.classes is not None:
            truth = truth == np.array(tree.classes)
        for node in np.unique(leaf):
            here, own = leaf == node, weight
            mean = np.average(truth[here], axis=0, weights=own[here])
            assert tree.value[node] == pytest.approx(mean)
            assert tree.weight[node] == pytest.approx(own[here].sum())
            assert tree.n_rows[node] == here.sum()


@pytest.mark.parametrize("learner", ["cart", "gradtree", "get"])
def test_rates_by_exposure_stay_rates_where_their_tree_is_edited(store, learner):
    more = {"years": np.random.default_rng(0).uniform(0.1, 3, 240).round(1)}
    made = store.run(add_run(store, "cart", "weight", exposure="years", more=more))
    asked = {"loss": "poisson", "tune": False, "max_leaf_nodes": 5}
    run_id = store.create("cart", asked, made.problem)
    assert run_one(run_id, store.home) == "done", store.run(run_id).error
    run, first = store.run(run_id), store.model(run_id)
    log = EditLog(tree_hash(first), (Prune("L"), Lock("")), Training(learner, below=""))
    child = create_trained(store, run, log)
    settings = store.run(child).settings
    assert settings["loss"] == "poisson"
    store.set_settings(child, settings | QUICK.get(learner, {}))
    assert run_one(child, store.home) == "done", store.run(child).error
    assert store.run(child).headline == run.headline == "d2"
    X, y, years = run.problem.split(store.table(run.problem.table_id)).rows("train")
    for tree in (store.model(child), store.model(save_edited(store, run, log))):
        assert tree.loss == first.loss
        assert tree.interval_level == first.interval_level
        leaf = tree.apply(X)
        for node in np.unique(leaf):
            here = leaf == node
            mean = np.average(y.to_numpy()[here], weights=years[here])
            assert tree.value[node, 0] == pytest.approx(mean)


@pytest.mark.slow
def test_a_locked_root_and_a_forbidden_column_cost_little_on_breast_cancer(store):
    built = BUILTIN["breast_cancer"]
    frame = built.load()
    problem = make_problem(
        frame, built.target, table_id=store.add_table(frame, built.title)
    )
    run_id = store.create("gradtree", {}, problem)
    assert run_one(run_id, store.home) == "done"
    run = store.run(run_id)
    bench = bench_of(store.model(run_id), problem.split(frame))
    root = bench.tree.features[bench.tree.feature[0]].column
    gains = Edited.of(bench.tree).candidates("", bench.train)
    best = next(one.column for one in gains if one.column != root)
    log = EditLog(
        tree_hash(bench.tree), (Lock(""), Forbid("", best)), Training("gradtree")
    )
    first, second = (create_trained(store, run, log) for _ in range(2))
    for child in (first, second):
        assert run_one(child, store.home) == "done"
    tree = store.model(first)
    assert same_split(tree, bench.tree, "")
    assert best not in tree.columns
    scores = [store.run(i).metrics["test"]["macro_f1"] for i in (run_id, first)]
    assert scores[1] >= scores[0] - 0.02
    assert tree_hash(tree) == tree_hash(store.model(second))
