import numpy as np
import pandas as pd
import pytest

from tests.trees.code.run import python_predictions, sql_predictions
from treelab.data.columns import categories
from treelab.data.encoding import TableEncoder, join_rare, least_text, parse_least
from treelab.data.problem import Problem, make_problem
from treelab.data.problem_check import check_problem
from treelab.learners.cart.estimators import CartClassifier
from treelab.trees.feature import Feature
from treelab.trees.io import load
from treelab.trees.text import split_condition, to_rules

N_RARE = 30


def towns(n_rows: int = 600) -> pd.DataFrame:
    """Two frequent towns, thirty that five rows hold each, and a target of towns."""
    rng = np.random.default_rng(0)
    town = np.repeat([f"hamlet {i}" for i in range(N_RARE)], 5).tolist()
    town += ["Athens", "Berlin"] * ((n_rows - len(town)) // 2)
    rural = np.char.startswith(town, "hamlet")
    noisy = rural ^ (rng.random(len(town)) < 0.1)
    frame = pd.DataFrame({"town": town, "price": np.where(noisy, "low", "high")})
    return frame.assign(rooms=rng.integers(1, 6, len(frame)).astype(float))


def rare_problem(frame: pd.DataFrame, least: float) -> Problem:
    """Predict the price, towns below so many rows as one."""
    problem = make_problem(frame, "price", task="binary")
    return Problem.from_dict(problem.to_dict() | {"rare": (("town", least),)})


def fitted(problem: Problem, frame: pd.DataFrame):
    """Fit a tree to the training rows of the towns; return it and their split."""
    split = problem.split(frame)
    estimator = CartClassifier(tune=False, max_depth=3, random_state=0)
    return estimator.fit(split.X_train, split.y_train).tree_, split


@pytest.mark.parametrize("least", [0, 2, 4, 0.2, 0.5, 1000])
def test_levels_that_fewer_rows_hold_are_one_group_and_the_others_keep_their_own(least):
    column = pd.Series([*"aaaabbbccdd", None])
    codes, levels = categories(column)
    joined = join_rare(codes, levels, least)
    counts = column.value_counts()
    needed = least * len(column) if least < 1 else least
    expected = {level for level in levels if counts[level] < needed}
    expected = expected if len(expected) > 1 else set()
    assert set(joined.rare) == expected
    groups = dict(zip(levels, joined.group))
    assert len({groups[level] for level in expected}) == min(1, len(expected))
    assert sorted(set(joined.group)) == list(range(joined.n_groups))
    assert (joined.codes == [groups.get(v, -1) for v in column]).all()


@pytest.mark.parametrize("text", ["", "10", "1%", "2.5%"])
def test_least_rows_are_written_as_they_are_read(text):
    assert least_text(parse_least(text)) == text


@pytest.mark.parametrize("text", ["1", "2.5", "60%", "few", "-3", "%", "nan"])
def test_least_rows_that_make_no_sense_are_refused(text):
    with pytest.raises(ValueError, match="rare below"):
        parse_least(text)


@pytest.mark.parametrize("one_hot_max", [0, 5])
def test_training_rows_alone_decide_what_is_rare_and_all_rare_ones_score_alike(
    one_hot_max,
):
    frame = towns()
    split = rare_problem(frame, 10).split(frame)
    encoder = TableEncoder("none", task="binary", one_hot_max=one_hot_max)
    encoder.fit_transform(split.X_train, split.y_train)
    counts = split.X_train["town"].value_counts()
    for feature in encoder.features_:
        if feature.column == "town":
            assert set(feature.rare) == set(counts.index[counts < 10])
            scores = dict(zip(feature.categories, feature.scores))
            assert len({scores[name] for name in feature.rare}) == 1


def test_rules_and_code_name_rare_values_and_predict_as_the_tree_does(tmp_path):
    frame = towns()
    tree, split = fitted(rare_problem(frame, 10), frame)
    (node, *_) = np.flatnonzero(~tree.is_leaf)
    texts = [split_condition(tree, int(node), left).text(False) for left in (0, 1)]
    n = len(tree.features[tree.feature[node]].rare)
    assert f"town is one of {n} rare values" in " ".join(texts)
    rules = " ".join(to_rules(tree)["rule"])
    assert "rare values" in rules
    assert "hamlet" not in rules
    new = pd.concat(
        [split.X_test, pd.DataFrame({"town": ["Rome", None], "rooms": 2.0})]
    )
    predicted = tree.predict(new)
    assert python_predictions(tree, new) == predicted.tolist()
    assert sql_predictions(tree, new) == predicted.tolist()
    tree.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.features[0].rare == tree.features[0].rare
    assert (again.predict(new) == predicted).all()


def test_without_the_setting_nothing_changes():
    frame = towns()
    plain = make_problem(frame, "price", task="binary")
    tree, _ = fitted(plain, frame)
    joined, _ = fitted(rare_problem(frame, 10), frame)
    assert not any(feature.rare for feature in tree.features)
    assert len(set(tree.features[0].scores)) > len(set(joined.features[0].scores))


def test_a_feature_knows_its_rare_values_as_categories():
    with pytest.raises(ValueError, match="rare values it does not list"):
        Feature("town", "category", "", 0, ("a",), (0.0,), rare=("b",))


def test_many_rare_values_are_noted_until_they_count_as_one():
    frame = towns()
    problem = make_problem(frame, "price", task="binary")
    said = [finding.sentence for finding in check_problem(frame, problem)]
    assert any("30 values that fewer than 10 rows hold" in words for words in said)
    said = [f.sentence for f in check_problem(frame, rare_problem(frame, 10))]
    assert not any("fewer than" in words for words in said)
