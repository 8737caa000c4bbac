"""Reports of runs: rebuilt from the run folder they are the same, word for word."""

import re
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tests.pages.stores import add_run
from tests.runs.jobs.surrogates import add_surrogate
from treelab.evaluation.metrics import scores, split_scores
from treelab.evaluation.paired_bootstrap import score_intervals
from treelab.reports.run_report import INTENDED_USE, model_card, run_report
from treelab.runs.jobs.import_model import NOTE, import_model
from treelab.runs.store.run_store import RunStore
from treelab.trees.words import significant


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "home")


@pytest.mark.slow
@pytest.mark.parametrize("target", ["kind", "weight"])
def test_a_report_rebuilt_from_the_run_folder_is_the_same(store, tmp_path, target):
    ids = [
        add_run(store, learner, target, sizes=learner == "cart")
        for learner in ("cart", "gradtree", "grande", "argmin")
    ]
    runs = [store.run(run_id) for run_id in ids]
    shutil.copytree(store.home, tmp_path / "copy")
    copy = RunStore(tmp_path / "copy")
    again = [copy.run(run_id) for run_id in ids]
    assert run_report(copy, again) == run_report(store, runs)
    assert model_card(copy, again[0]) == model_card(store, runs[0])


@pytest.mark.parametrize("learner", ["cart", "grande", "argmin"])
@pytest.mark.parametrize("target", ["kind", "weight"])
def test_the_scores_are_those_of_the_model_on_the_test_rows(store, learner, target):
    run = store.run(add_run(store, learner, target))
    split = run.problem.split(store.table(run.problem.table_id))
    found = split_scores(store.model(run.id), run.problem.task, split)["test"]
    name = "macro_f1" if target == "kind" else "r2"
    words = f"{significant(found[name])} on 48 test rows (95% interval "
    assert words in run_report(store, [run])
    assert words in model_card(store, run)


@pytest.mark.parametrize("learner", ["cart", "grande"])
def test_a_report_of_weighted_rows_measures_by_weight(store, learner):
    run = store.run(add_run(store, learner, weight="weight"))
    split = run.problem.split(store.table(run.problem.table_id))
    X, y, weight = split.rows("test")
    predicted = store.model(run.id).predict(X)
    page = model_card(store, run)
    for name, ends in score_intervals("multiclass", y, predicted, weight).items():
        low, high = map(significant, ends)
        assert f"{low} to {high}" in page, name
    assert "48 test rows, weighted by weight" in page
    assert "| weight of a row | weight |" in page
    assert "weight of the test rows" in page
    most = pd.Series(split.rows("train").weight).groupby(split.y_train.array).sum()
    constant = np.full(len(y), most.idxmax())
    base = scores("multiclass", y, constant, sample_weight=weight)
    assert significant(base["balanced_accuracy"]) in page
    assert page.count(significant(base["accuracy"])) >= 1


@pytest.mark.parametrize("name", ["small", "a\\b"])
def test_a_class_without_a_test_row_is_called_rare(store, name):
    part = np.array(["train", "valid", "test", "test"])[np.arange(240) % 4]
    kind = np.where(
        part == "test", "fine", np.array(["fine", name])[np.arange(240) % 3 % 2]
    )
    given = {"split_by": "given", "split_column": "part"}
    more = {"part": part, "kind": kind}
    run = store.run(add_run(store, "cart", split=given, more=more))
    card = model_card(store, run).replace("\\\\", "\\")  # as Markdown escapes it
    assert f"Fewer than 30 test rows are of “{name}”: " in card


def test_off_by_at_most_holds_for_as_many_rows(store):
    run = store.run(add_run(store, "cart", "weight"))
    X, y, _ = run.problem.split(store.table(run.problem.table_id)).rows("test")
    error = np.sort(np.abs(store.model(run.id).predict(X) - y.to_numpy()))
    card = model_card(store, run)
    for fraction in (0.5, 0.75, 0.9, 0.95, 1.0):
        least = error[int(np.ceil(fraction * len(error))) - 1]
        assert f"| {fraction:.0%} of the rows | {significant(least)} kg |" in card


def test_a_report_of_a_rate_says_what_was_predicted_in_all(store):
    years = {"years": 0.5 + np.arange(240) % 3}
    run = store.run(add_run(store, "cart", "weight", exposure="years", more=years))
    test = run.metrics["test"]
    words = f"{significant(test['predicted_total'])} weight predicted"
    assert words in run_report(store, [run])
    assert "weight per years" in model_card(store, run)


def test_a_report_holds_all_it_needs_and_every_part(store):
    run = store.run(add_run(store, "cart", sizes=True, title="My <own> tree"))
    page = run_report(store, [run])
    assert "<h1>My &lt;own&gt; tree</h1>" in page
    assert not re.search(r"<(?:link|img|iframe)\b", page)
    assert re.findall(r"<h2>(.*?)</h2>", page) == [
        "Result",
        "The tree",
        "Score against size",
        "Errors on the test rows",
        "Why it predicts what it does",
        "Limits",
        "Data",
        "Scores",
        "Training",
    ]
    assert run.problem.table_id in page
    assert page.count("treelabViewer.mount(") == 1
    assert 'id="tree-0-data"' in page


def test_sizes_say_of_which_score_held_out_and_test_rows_are(store):
    run = store.run(add_run(store, "cart", sizes=True))
    run = replace(run, summary=run.summary | {"held_out_title": "cost saved"})
    page = run_report(store, [run])
    assert re.search(r">Cost saved, held-out rows, at most \d+ leaves: ", page)
    assert "cost saved, held-out rows</th>" in page
    assert "macro F1, test rows</th>" in page
    assert "chose the size" not in page  # that of a tree that is not tuned was given


def test_sizes_of_runs_with_and_without_costs_are_drawn_by_one_score(store):
    runs = [store.run(add_run(store, "cart", sizes=True)) for _ in range(2)]
    runs[1] = replace(runs[1], summary=runs[1].summary | {"held_out_title": "saved"})
    page = run_report(store, runs)
    assert re.search(r">Macro F1, test rows, at most \d+ leaves: ", page)


def test_sizes_of_runs_of_other_losses_have_no_common_chart(store):
    asked = {"loss": "absolute_error"}
    runs = [
        store.run(add_run(store, "cart", "weight", sizes=True, settings=own))
        for own in ({}, asked)
    ]
    page = run_report(store, runs)
    assert "no common chart" in page
    assert "<svg" not in page
    assert re.findall(r"(..), test rows</th>", page) == ["R²", "D²"]


def test_a_report_says_what_a_test_row_costs_where_a_run_was_trained_by_costs(store):
    asked = {"constraints": {"class_costs": {"small": {"fine": 5}}}}
    runs = [
        store.run(add_run(store, "cart", weight="weight", settings=own))
        for own in ({}, asked)
    ]
    split = runs[0].problem.split(store.table(runs[0].problem.table_id))
    X, y, weight = split.rows("test")
    means = []
    for run in runs:
        predicted = store.model(run.id).predict(X)
        cost = (predicted != y) * (1 + 4 * ((y == "small") & (predicted == "fine")))
        means.append(significant(float(np.average(cost, weights=weight))))
    words = f"a test row costs {means[0]} with CART 2 and {means[1]} with CART."
    assert words in run_report(store, runs)
    assert f"it was trained, a test row costs {means[1]}." in model_card(store, runs[1])
    assert "a test row costs" not in model_card(store, runs[0])


def test_a_surrogate_is_held_against_the_truth_as_well(store):
    page = run_report(store, [store.run(add_surrogate(store))])
    assert "It imitates the predictions “forest” of another model" in page
    assert "Against the truth: “forest” 0." in page


def test_a_comparison_says_which_run_is_better(store):
    runs = [store.run(add_run(store, learner)) for learner in ("cart", "grande")]
    page = run_report(store, runs)
    assert "clearly more than GRANDE." in page
    assert "<td>CART is better</td>" in page


def test_of_a_model_from_elsewhere_no_training_is_made_up(store):
    run = store.run(add_run(store, "cart"))
    imported = import_model(store, store.model(run.id), run.problem, "Mine")
    card = model_card(store, store.run(imported))
    training = card[card.index("## Training") : card.index("## Scores")]
    assert "trained elsewhere" in training
    assert "fitted to" not in training
    assert NOTE in card


def test_runs_of_other_rows_are_refused(store):
    runs = [store.run(add_run(store, "cart", seed=seed)) for seed in (0, 1)]
    with pytest.raises(ValueError, match="same rows"):
        run_report(store, runs)


def test_a_model_card_is_plain_markdown_with_a_prompt(store):
    card = model_card(store, store.run(add_run(store, "cart", title="a | <b> *c*")))
    assert card.startswith("# a \\| \\<b\\> \\*c\\*\n")
    assert INTENDED_USE in card
    widths = [line.count(" |") for line in card.splitlines() if line.startswith("|")]
    assert min(widths) >= 2
