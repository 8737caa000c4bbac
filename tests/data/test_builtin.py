import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from treelab.data.builtin import BUILTIN
from treelab.data.columns import column_kind
from treelab.data.problem import make_problem
from treelab.data.synthetic_tables import greedy_trap, library_members


@pytest.mark.parametrize("key", BUILTIN)
def test_a_table_loads_anew_each_time_with_its_target_last(key):
    table = BUILTIN[key]
    frame, again = table.load(), table.load()
    assert table.key == key
    assert frame.columns[-1] == table.target
    pd.testing.assert_frame_equal(frame, again)
    frame.iloc[0, 0] = 99
    pd.testing.assert_frame_equal(table.load(), again)
    assert set(table.units) <= set(frame.columns)
    assert not frame[table.target].isna().any()


@pytest.mark.parametrize("key", BUILTIN)
def test_only_the_digits_have_numbers_for_classes(key):
    table = BUILTIN[key]
    kind = column_kind(table.load()[table.target])
    assert kind == ("number" if key in ("digits", "diabetes") else "category")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("depth", [2, 3])
def test_a_greedy_tree_falls_into_the_trap(seed, depth):
    assert greedy_accuracy(greedy_trap(seed=seed), seed, depth) < 0.62


@pytest.mark.parametrize("depth", [2, 3, 4, 5, 6])
def test_a_deeper_greedy_tree_is_far_from_out_of_the_trap_that_ships(depth):
    assert greedy_accuracy(BUILTIN["greedy_trap"].load(), 0, depth) < 0.68


def greedy_accuracy(frame, seed, depth):
    """Test accuracy of a greedy tree on the trap."""
    split = make_problem(frame, "bar", seed=seed).split(frame)
    tree = DecisionTreeClassifier(max_depth=depth, random_state=0)
    tree.fit(split.X_train, split.y_train)
    return tree.score(split.X_test, split.y_test)


@pytest.mark.parametrize("seed", range(5))
def test_two_levels_of_splits_tell_the_trap_apart(seed):
    frame = greedy_trap(seed=seed)
    hot = frame["furnace temperature"] > 850
    fast = frame["cooling rate"] > 40
    told = np.where(hot == fast, "cracked", "sound")
    assert (told == frame["bar"]).mean() > 0.95
    assert 0.4 < (frame["bar"] == "cracked").mean() < 0.6


def test_the_mixed_table_is_mixed_and_can_be_learned():
    frame = library_members()
    kinds = [column_kind(frame[name]) for name in frame]
    assert kinds.count("number") >= 4
    assert frame["occupation"].nunique() == 12
    assert frame["income"].isna().any()
    assert frame["occupation"].isna().any()
    assert frame["age"].dropna().between(17, 90).all()
    split = make_problem(frame, "renews").split(frame)
    X = pd.get_dummies(pd.concat([split.X_train, split.X_test]))
    tree = DecisionTreeClassifier(max_depth=5, random_state=0)
    tree.fit(X.loc[split.X_train.index], split.y_train)
    assert tree.score(X.loc[split.X_test.index], split.y_test) > 0.72


def test_listing_the_tables_loads_no_scikit_learn():
    code = "import sys, treelab.data.builtin; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
