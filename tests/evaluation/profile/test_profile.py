"""A table's profile: rows, gaps, associations and distributions."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from treelab.data.leaks import sampled_rows
from treelab.data.problem import make_problem
from treelab.evaluation import profile as module
from treelab.evaluation.profile import (
    Distribution,
    alone,
    associations,
    distribution,
    missing_by_column,
    missing_words,
    row_facts,
)
from treelab.trees.cells import CellForm, note_forms
from treelab.trees.dates import decimal_years
from treelab.trees.words import parse


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_repeated_and_contradicting_rows_are_counted():
    frame = pd.DataFrame(
        {
            "a": [1, 1, 2, 2, 3, np.nan, np.nan, 4],
            "b": ["x", "x", "x", "x", "y", "z", "z", "z"],
            "y": ["no", "no", "no", "yes", "no", "no", "yes", None],
        }
    )
    facts = row_facts(frame, make_problem(frame, "y", columns=["a", "b"]))
    assert (facts.n_rows, facts.n_complete) == (8, 5)
    assert facts.missing_share == pytest.approx(3 / 24)
    assert facts.n_repeated == 1
    assert facts.n_contradicting == 4


def test_equal_values_in_other_columns_are_another_row():
    frame = pd.DataFrame({"a": [1, 2], "b": [2, 1], "y": ["u", "v"]})
    assert row_facts(frame, make_problem(frame, "y")).n_contradicting == 0


def test_gaps_are_held_against_the_classes():
    frame = pd.DataFrame(
        {
            "a": [1.0, np.nan, 3, 4],
            "b": [np.nan, np.nan, 1, 2],
            "y": ["no", "no", "yes", "yes"],
        }
    )
    gaps = missing_by_column(frame, make_problem(frame, "y", columns=["a", "b"]))
    assert gaps["column"].tolist() == ["b", "a"]
    assert gaps.loc[0, ["lowest", "highest"]].tolist() == [0.0, 1.0]
    assert gaps.loc[0, ["lowest_in", "highest_in"]].tolist() == ["yes", "no"]
    whole = frame.drop(columns=["a", "b"]).assign(a=range(4))
    assert missing_by_column(whole, make_problem(whole, "y", columns=["a"])).empty


def test_what_shows_no_number_is_missing_where_number_is_chosen():
    frame = pd.DataFrame({"a": ["$1", "no", "no", "$4"], "y": ["u", "v", "v", "u"]})
    note_forms(frame, {"a": CellForm("category", unit="$", example="$1")})
    as_words = make_problem(frame, "y", columns=["a"])
    assert row_facts(frame, as_words).missing_share == 0
    assert missing_by_column(frame, as_words).empty
    problem = replace(as_words, kinds=(("a", "number"),))
    facts = row_facts(frame, problem)
    assert (facts.missing_share, facts.n_complete) == (2 / 8, 2)
    gaps = missing_by_column(frame, problem)
    assert gaps.loc[0, ["missing", "lowest", "highest"]].tolist() == [0.5, 0.0, 1.0]


def test_what_goes_together_is_strong_and_chance_is_not(rng):
    x = rng.normal(size=2000)
    letter = rng.choice(list("abcdefgh"), 2000)
    frame = pd.DataFrame(
        {
            "x": x,
            "cube": -(x**3),
            "sign": np.where(x > 0, "plus", "minus"),
            "letter": letter,
            "code": pd.Series(letter).str.upper(),
            "noise": rng.normal(size=2000),
            "same": 1.0,
        }
    )
    found = associations(frame)
    at = {name: k for k, name in enumerate(found.names)}

    def strength(a, b):
        return found.strength[at[a], at[b]]

    assert strength("x", "cube") == pytest.approx(1)
    assert strength("x", "sign") > 0.8
    assert strength("letter", "code") == pytest.approx(1, abs=0.01)
    for other in ("x", "sign", "letter", "same"):
        assert strength("noise", other) < 0.1
    assert {found.strongest(1)[0][:2]} <= {("x", "cube"), ("letter", "code")}
    order = found.order().tolist()
    assert abs(order.index(at["letter"]) - order.index(at["code"])) == 1


def test_what_chance_alone_sets_together_is_not_called_associated():
    """Rare levels that meet once are strong, and what a column tells is not."""
    rng = np.random.default_rng(0)
    often = 1 / np.arange(1, 21) ** 1.5
    frame = pd.DataFrame(
        {
            name: [f"{name}{k}" for k in rng.choice(20, 100, p=often / often.sum())]
            for name in "abcdef"
        }
    )
    found = associations(frame)
    assert found.clearest is None
    assert found.sentences().startswith("No association exceeds chance; the strongest")
    frame["x"] = (frame["a"] == "a0") + 3 * rng.normal(size=100)
    frame["z"] = frame["x"] + 3 * rng.normal(size=100)
    found = associations(frame)
    assert found.clearest[:2] == ("x", "z")
    strength = found.clearest[2]
    assert found.sentences().startswith(f"Strongest association: {strength:.3g}")
    weaker = replace(found, clearest=found.strongest(2)[1])
    assert weaker.sentences().startswith("Strongest association beyond chance: ")


def test_columns_that_share_few_rows_are_not_called_nearly_the_same():
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(200, 4)), columns=list("abcd"))
    table["a"] = table["a"].where(table.index < 4)
    table["b"] = table["a"] ** 3  # the same to all rows that chance let them share
    assert associations(table).sentences().startswith("No association exceeds chance")
    assert "nearly the same" not in associations(table).sentences()
    table["e"], table["f"] = np.exp(table["c"]), table["c"] + 0.01 * table["d"]
    assert "3 pairs at 0.95 or more: nearly" in associations(table).sentences()


@pytest.mark.slow
def test_of_columns_of_noise_no_two_are_called_associated():
    said = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        table = pd.DataFrame(rng.poisson(1.5, size=(60, 6)).astype(float))
        table[[0, 1, 2]] = table[[0, 1, 2]].map("{:g} times".format)
        table.columns = list("abcdef")
        said += associations(table).clearest is not None
    assert said <= 5


def test_pairs_need_rows_and_many_rows_are_sampled(monkeypatch):
    monkeypatch.setattr(module, "MOST_ROWS", 50)
    half = np.where(np.arange(200) < 100, 1.0, np.nan)
    found = associations(pd.DataFrame({"a": half, "b": half[::-1]}))
    assert found.n_rows == 50
    assert np.isnan(found.strength[0, 1])
    assert found.strongest(3) == []


def test_what_a_column_predicts_alone_runs_from_guessing_to_exact(rng):
    y = rng.choice(["a", "b", "c"], 900)
    frame = pd.DataFrame(
        {"copy": pd.Series(y).str.upper(), "noise": rng.normal(size=900), "y": y}
    )
    found = alone(frame, make_problem(frame, "y"))
    assert found.names == ["copy", "noise"]
    assert found.power[0] == 1
    assert found.power[1] < 0.15
    assert found.leaks == ["copy"]
    assert alone(frame[:30], make_problem(frame, "y")).names == []


def test_rows_are_counted_by_bin_and_class():
    frame = pd.DataFrame(
        {
            "size": ["small", "large", "medium", None] * 10,
            "age": [20.5, 30.25, 41.0, 52.0] * 10,
            "y": ["no", "yes", "no", "no"] * 10,
        }
    )
    problem = make_problem(frame, "y")
    found = distribution(frame["size"], frame["y"], problem)
    assert found.labels == ["small", "medium", "large", "missing"]
    assert found.counts["yes"].tolist() == [0, 0, 10, 0]
    assert found.telling_bin() == (2, "yes", 1.0, 0.25)
    assert "size is “large”" in found.sentence("size", "y")
    assert "“yes” in 100% of them" in found.sentence("size", "y")
    found = distribution(frame["age"], frame["y"], problem)
    assert found.counts.to_numpy().sum() == 40
    problem = make_problem(frame, "age")
    found = distribution(frame["size"], frame["age"], problem)
    assert found.target_mean.tolist() == [20.5, 41.0, 30.25, 52.0]
    assert found.telling_bin()[0] in (0, 3)


def test_bins_that_differ_by_chance_alone_are_said_to():
    said = {"noise": 0, "told": 0}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame({"noise": rng.normal(size=100)})
        frame["told"] = frame["noise"]
        frame["y"] = rng.choice(["yes", "no"], 100, p=[0.3, 0.7])
        frame["told"] += 2 * (frame["y"] == "yes")
        problem = make_problem(frame, "y")
        for name in said:
            words = distribution(frame[name], frame["y"], problem).sentence(name, "y")
            said[name] += words.endswith(" in all, no clear difference.")
    assert said["noise"] >= 18
    assert said["told"] <= 1


def test_of_many_columns_of_noise_none_is_said_to_differ():
    n_said = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(rng.normal(size=(100, 12))).rename(columns="x{}".format)
        frame["y"] = rng.choice(["yes", "no"], 100, p=[0.3, 0.7])
        problem = make_problem(frame, "y")
        clear = [
            distribution(frame[name], frame["y"], problem).is_clear
            for name in problem.columns
        ]
        n_said += any(clear)
    assert n_said <= 3


@pytest.mark.parametrize(
    ("hours", "first", "last"),
    [
        (np.arange(6 * 60, 18 * 60) / 60, "≤ 6:36", "> 17:23"),
        (np.repeat([8, 12.5, 17], 9), "8:00", "17:00"),
        (np.repeat([8.0, 9.0, 17.0], 9), "8:00", "17:00"),
        (np.arange(100) / 3600, "≤ 0:00:05", "> 0:01:34"),
    ],
)
def test_bins_of_times_are_written_as_times(hours, first, last):
    column = pd.Series(hours, dtype=float)
    y = pd.Series(np.where(column > column.median(), "late", "early"))
    problem = make_problem(pd.DataFrame({"x": column, "y": y}), "y", columns=["x"])
    found = distribution(column, y, problem, of_times=True)
    assert (found.labels[0], found.labels[-1]) == (first, last)
    assert found.counts.to_numpy().sum() == len(column)


def test_a_bin_of_many_rows_tells_more_than_one_of_few_that_is_a_little_further():
    rows = pd.DataFrame({"rows": [900, 1_000, 60]})
    found = Distribution(["a", "b", "c"], rows, np.array([5.4, 4.6, 5.6]), True)
    assert found.telling_bin()[0] in (0, 1)
    of_classes = pd.DataFrame({"no": [450, 1_000, 20], "yes": [450, 500, 40]})
    found = Distribution(["a", "b", "c"], of_classes, None)
    place, label, share, _ = found.telling_bin()
    assert (place, label, share) == (0, "yes", 0.5)


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([1, 2, 3] * 10, ["1", "2", "3"]),
        ([5, 5, 5], ["5"]),
        ([0] + [1] * 49, ["0", "1"]),  # the first percentile lies between them
        ([0, 5, 10, 12.5, 50] * 9, ["0", "5", "10", "12.5", "50"]),
        ([-1] + [0, 1, 2] * 300 + [9], ["≤ 0", "1", "≥ 2"]),
        ([20190501, 20190502] * 9, ["2.0190501e7", "2.0190502e7"]),
        ([f"c{i}" for i in range(30)], None),
        ([np.nan] * 4, ["missing"]),
    ],
)
def test_bins_hold_every_row(values, labels):
    column = pd.Series(values)
    target = pd.Series(np.arange(len(column)) % 2).map({0: "u", 1: "v"})
    frame = pd.DataFrame({"x": column, "y": target})
    found = distribution(column, target, make_problem(frame, "y", columns=["x"]))
    assert found.counts.to_numpy().sum() == len(column)
    if labels is None:
        assert len(found.labels) == 12
        assert found.labels[-1] == "others"
    else:
        assert found.labels == labels


def test_bins_of_dates_are_named_by_days_and_no_two_bins_alike():
    days = pd.Series(pd.date_range("2020-01-01", periods=900, freq="D"))
    label = np.array(["u", "v"])[np.arange(900) % 2]
    near = 1e6 + np.arange(900) / 900
    frame = pd.DataFrame({"day": decimal_years(days), "near": near, "y": label})
    for name in ("day", "near"):
        found = distribution(frame[name], frame["y"], make_problem(frame, "y"))
        assert len(set(found.labels)) == len(found.labels) == 24
    found = distribution(frame["day"], frame["y"], make_problem(frame, "y"))
    assert found.labels[1] == "15 Feb 2020 to 23 Mar 2020"


def test_a_bin_of_numbers_holds_what_its_name_says(rng):
    x = pd.Series(np.round(rng.lognormal(4, 1, 3000), 2))
    frame = pd.DataFrame({"x": x, "y": rng.normal(size=3000)})
    found = distribution(x, frame["y"], make_problem(frame, "y"))
    ends = [parse(name.split(" to ")[1]) for name in found.labels[1:-1]]
    ends = [-np.inf, parse(found.labels[0][2:]), *ends, np.inf]
    rows = np.histogram(-x, bins=-np.array(ends)[::-1])[0][::-1]  # ends are inside
    assert found.counts["rows"].tolist() == rows.tolist()


def test_noise_predicts_nothing_beside_a_class_that_no_scored_row_has(rng):
    y = np.array(["a", "b"] * 200, dtype=object)
    frame = pd.DataFrame({"noise": rng.normal(size=400), "y": y})
    fitted = sampled_rows(frame["y"], 1)[0]  # of the half that is not scored
    frame.loc[fitted, "y"] = "rare"
    assert alone(frame, make_problem(frame, "y")).power[0] < 0.15


@pytest.mark.slow
def test_codes_of_classes_beside_a_missing_one_are_whole():
    y = pd.Series([np.nan, *[0, 0, 1] * 60])  # 0.0 and 1.0
    frame = pd.DataFrame({"x": np.where(y == 1, np.nan, 1.0), "y": y})
    problem = make_problem(frame, "y")
    assert {*distribution(frame["x"], y, problem).counts.columns} == {0, 1}
    assert "100% of 1, 0% of 0" in missing_words(missing_by_column(frame, problem))
    assert "“1” in 100%" in distribution(frame["x"], y, problem).sentence("x", "y")


def test_gaps_by_chance_are_not_said_to_depend_on_the_target():
    said = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(
            {"a": rng.normal(size=400), "y": rng.choice(list("pqrst"), 400)}
        )
        gaps = rng.random(400) < 0.15
        problem = make_problem(frame, "y")
        by_chance = frame.assign(a=frame["a"].mask(gaps))
        said += "depends" in missing_words(missing_by_column(by_chance, problem))
        of_one = frame.assign(a=frame["a"].mask(gaps & (frame["y"] == "p")))
        assert "depends" in missing_words(missing_by_column(of_one, problem))
    assert said <= 6


def test_gaps_of_rare_classes_by_chance_do_not_depend_on_the_target():
    said = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        label = rng.choice(list("pqrstuvwxyz"), 100, p=[0.7] + [0.03] * 10)
        frame = pd.DataFrame({"a": rng.normal(size=100), "y": label})
        problem = make_problem(frame, "y")
        by_chance = frame.assign(a=frame["a"].mask(rng.random(100) < 0.04))
        said += "depends" in missing_words(missing_by_column(by_chance, problem))
    assert said <= 6
    of_one = frame.assign(a=frame["a"].mask(frame["y"] == "q"))
    assert "100% of q" in missing_words(missing_by_column(of_one, problem))


def test_gaps_are_told_of_the_class_that_lacks_values_not_of_a_rare_one():
    told = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        share = 1 / np.arange(1, 41)
        label = rng.choice(40, 2000, p=share / share.sum())
        gaps = rng.random(2000) < np.where(label == 0, 0.25, 0.05)
        y = np.char.add("c", label.astype(str))
        frame = pd.DataFrame({"a": rng.normal(size=2000), "y": y}).mask(
            pd.DataFrame({"a": gaps, "y": False})
        )
        words = missing_words(missing_by_column(frame, make_problem(frame, "y")))
        told += "% of c0, " in words
    assert told >= 28  # the highest fraction of all is that of c0 in 22


def noise(seed: int, task: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Ten columns that tell nothing of the target, and the numbers it is made of."""
    rng = np.random.default_rng(seed)
    names = [f"x{k}" for k in range(10)]
    frame = pd.DataFrame(rng.normal(size=(100, 10)), columns=names)
    y = rng.normal(size=100)
    return frame.assign(y=y if task == "regression" else np.where(y > 0, "a", "b")), y


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_a_column_among_noise_is_said_to_predict_alone(task):
    frame, y = noise(19, task)
    problem = make_problem(frame, "y")
    assert problem.task == task
    assert alone(frame, problem).sentences(problem).startswith("No column alone ")
    frame["x3"] = y + 0.3 * np.random.default_rng(0).normal(size=100)
    words = alone(frame, problem).sentences(problem)
    assert "; 1 of 10 columns exceeds 0." in words
    assert words.endswith("as chance seldom does.")


@pytest.mark.slow
@pytest.mark.parametrize("task", ["binary", "regression"])
def test_of_columns_of_noise_none_is_said_to_predict_alone(task):
    said = 0
    for seed in range(20):
        frame, _ = noise(seed, task)
        problem = make_problem(frame, "y")
        words = alone(frame, problem).sentences(problem)
        said += not words.startswith("No column alone ")
    assert said <= 3
