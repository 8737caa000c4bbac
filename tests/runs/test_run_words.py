"""Runs in words: no two names are alike, and none is cut."""

import pytest

from tests.pages.stores import add_run
from treelab.runs.run_words import distinct, repeats_words
from treelab.runs.store.run_store import RunStore


def test_of_names_that_are_alike_the_oldest_stays_bare():
    names = {"c": "CART", "b": "CART 2", "a": "CART"}  # the newest first
    assert distinct(names) == {"c": "CART 3", "b": "CART 2", "a": "CART"}


@pytest.mark.parametrize("ending", [", 5 folds", ", fold 2 of 5", ""])
def test_the_mean_over_folds_is_told_by_the_whole_name_of_a_run(tmp_path, ending):
    store = RunStore(tmp_path / "home")
    ids = [add_run(store, "cart", seed=seed, n_folds=5) for seed in range(2)]
    store.set_title(ids[1], f"wide, and shallow{ending}")
    words = repeats_words([store.run(ids[1])], [], store.runs(), {})
    assert "wide, and shallow 0." in words
