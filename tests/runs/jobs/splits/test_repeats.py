"""A run's learner and settings again, on other data splits."""

from dataclasses import replace

import pytest

from tests.pages.stores import add_run
from treelab.data.problem import folds_problem
from treelab.runs.jobs.derived import save_pruned
from treelab.runs.jobs.repeats import (
    can_be_repeated,
    create_folds,
    create_repeats,
    folds_of,
    run_kind,
    runs_by_seed,
)
from treelab.runs.store.run_store import RunStore
from treelab.runs.store.workers import ProcessId
from treelab.trees.pruning import cost_complexity_path


@pytest.fixture
def store(tmp_path) -> RunStore:
    return RunStore(tmp_path / "home")


def made(store, runs, n_splits) -> list:
    ids = create_repeats(store, [store.run(i) for i in runs], n_splits)
    return [store.run(i) for i in ids]


def test_repeats_are_marked_named_and_differ_by_their_seed_alone(store):
    run = store.run(add_run(store, "cart", seed=2))
    repeats = made(store, [run.id], 3)
    assert [own.problem.seed for own in repeats] == [3, 4, 5]
    assert {own.repeat_of for own in repeats} == {run.id}
    assert {run_kind(own) for own in repeats} == {run_kind(run)}
    assert [own.state for own in repeats] == ["queued"] * 3
    assert repeats[0].title == "Repeat of CART, seed 3"


def test_runs_are_repeated_on_the_same_splits_and_none_is_made_twice(store):
    cart, gradtree = add_run(store, "cart"), add_run(store, "gradtree")
    add_run(store, "cart", seed=1)  # trained by hand, which counts
    first = made(store, [cart, gradtree], 2)
    assert [(own.learner, own.problem.seed) for own in first] == [
        ("gradtree", 1),
        ("cart", 2),
        ("gradtree", 2),
    ]
    later = made(store, [cart, gradtree], 1)  # those of before still wait
    assert [own.problem.seed for own in later] == [3, 3]
    store.request_stop(first[1].id)  # one that ended without a model is made anew
    assert [own.problem.seed for own in made(store, [cart, gradtree], 1)] == [2]


def test_a_repeat_that_was_cut_off_goes_on(store):
    run = add_run(store, "cart")
    first, second = made(store, [run], 2)
    for own, state in ((first, "interrupted"), (second, "failed")):
        store.start(own.id, ProcessId.here())
        store.finish(own.id, state)
    again = made(store, [run], 2)
    assert [own.problem.seed for own in again] == [1, 2]
    assert again[0].id == first.id  # from where it was
    assert again[1].id != second.id  # which would fail again


def test_an_edited_tree_that_was_cut_off_is_no_repeat(store):
    run = add_run(store, "cart")
    (edited,) = made(store, [run], 1)
    store.add_plan(edited.id, "edits", "{}")
    store.start(edited.id, ProcessId.here())
    store.finish(edited.id, "interrupted")
    assert made(store, [run], 1)[0].id != edited.id


def test_an_edited_tree_that_waits_is_no_repeat_and_no_fold(store):
    run = add_run(store, "cart")
    (edited,) = made(store, [run], 1)
    assert made(store, [run], 1)[0].problem.seed == 2  # the first counts as it waits
    store.add_plan(edited.id, "edits", "{}")
    assert made(store, [run], 1)[0].problem.seed == 1
    problem = folds_problem(store.run(run).problem, 5)
    (first, *_) = create_folds(store, "cart", {}, problem)
    assert len(folds_of(store, "cart", {}, problem)) == 5
    store.add_plan(first, "edits", "{}")
    assert len(folds_of(store, "cart", {}, problem)) == 4


def test_a_repeat_of_a_repeat_belongs_to_the_first_run(store):
    run = add_run(store, "cart")
    (repeat,) = made(store, [run], 1)
    (other,) = made(store, [repeat.id], 1)
    assert (other.repeat_of, other.title) == (run, "Repeat of CART, seed 2")
    store.delete(run)
    (orphan,) = made(store, [repeat.id], 1)
    assert orphan.repeat_of == repeat.id


def test_a_size_chosen_by_hand_is_not_repeated(store):
    run = store.run(add_run(store, "cart"))
    smaller = cost_complexity_path(store.model(run.id))[1]
    derived = store.run(save_pruned(store, run, smaller))
    assert not can_be_repeated(derived)
    assert made(store, [derived.id], 2) == []
    assert run_kind(derived) != run_kind(run)


def test_rows_that_a_time_sets_apart_are_not_repeated(store):
    later = {"split_by": "time", "split_column": "radius"}
    one, other = (
        store.run(add_run(store, "cart", split=later, seed=seed)) for seed in (0, 1)
    )
    assert made(store, [one.id], 2) == []
    assert runs_by_seed(one, [other, one]) == {0: one}  # of the same test rows


@pytest.mark.parametrize("how", ["pruned_from", "edited_from"])
def test_a_tree_made_by_hand_is_no_run_of_the_learners_kind(store, how):
    run = store.run(add_run(store, "cart"))
    by_hand = replace(run, id="other", summary=run.summary | {how: run.id})
    assert not can_be_repeated(by_hand)
    assert runs_by_seed(run, [by_hand, run]) == {0: run}
    assert run_kind(by_hand) != run_kind(run)


def test_runs_of_a_kind_are_found_by_seed(store):
    ids = [add_run(store, "cart", seed=seed) for seed in (4, 0, 2)]
    add_run(store, "cart", seed=1, settings={"max_depth": 2})
    add_run(store, "gradtree", seed=1)
    create_repeats(store, [store.run(ids[0])], 1)  # has no score yet
    found = runs_by_seed(store.run(ids[0]), store.runs())
    assert {seed: run.id for seed, run in found.items()} == dict(
        zip((0, 2, 4), (ids[1], ids[2], ids[0]))
    )


def test_others_are_trained_before_repeats(store):
    run = add_run(store, "gradtree")
    (repeat,) = made(store, [run], 1)
    other = store.create("gradtree", {}, repeat.problem)
    quick = made(store, [add_run(store, "cart")], 1)[0]
    for run_id in (repeat.id, other, quick.id):
        store.submit(run_id)
    assert store.queued() == [quick.id, other, repeat.id]
