import json

import pytest

from treelab.cli.main import build_parser, main
from treelab.cli.tables import read_problem, store_problem
from treelab.data.builtin import BUILTIN
from treelab.learners.common.settings import Range, Values
from treelab.runs.jobs.sweep import create_sweep
from treelab.runs.store.run_store import RunStore
from treelab.runs.sweeps import SweepPlan, open_study, suggest, trial_table

CART = ["--target", "species", "--learner", "cart", "--scoring", "validation"]


@pytest.fixture
def table(tmp_path):
    iris = BUILTIN["iris"]
    path = tmp_path / "iris.csv"
    iris.load().rename(columns={iris.target: "species"}).to_csv(path, index=False)
    return str(path)


@pytest.mark.slow
def test_a_sweep_from_the_shell_ends_in_a_run(table, tmp_path, capsys):
    home = str(tmp_path / "home")
    space = ["--space", "max_depth=1..3", "--set", "ccp_alpha=0.0"]
    code = main(["sweep", table, *CART, *space, "--trials", "3", "--home", home])
    printed = capsys.readouterr().out
    assert code == 0
    assert "3 trials: 3 done" in printed
    (run,) = RunStore(home).runs()
    assert run.settings["max_depth"] <= 3
    assert run.settings["ccp_alpha"] == 0
    assert "ccp_alpha" not in printed
    as_json = ["--trials", "2", "--json", "--home", home]
    assert main(["sweep", table, *CART, *space, *as_json]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["settings"]["max_depth"] <= 3
    assert [trial["state"] for trial in found["trials"]] == ["done", "done"]


@pytest.mark.parametrize("split", [[], ["--split", "time:petal length"]])
def test_folds_that_score_trials_are_not_those_of_the_test_rows(table, split):
    """A third of all rows was tested on, and rows by time or of a file were refused."""
    given = [table, "--target", "species", *split]
    searched = build_parser().parse_args(["sweep", *given, "--folds", "4"])
    trained = build_parser().parse_args(["train", *given])
    assert read_problem(searched)[1] == read_problem(trained)[1]
    assert searched.scoring_folds == 4


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--space", "max_depth"], "NAME=WHAT"),
        (["--space", "wings=2..3"], "wings"),
        (["--space", "max_depth=0..3"], "max_depth"),
        (["--space", "class_weight=1..3"], "class_weight"),
        (["--preset", "paper"], "'paper'"),
        (["--preset", "none"], "one setting"),
        (["--trials", "0"], "one trial"),
        (["--folds", "1"], "Folds are two at least, got 1"),
        (["--folds", "4"], "--folds goes with --scoring folds"),
        (["--minutes", "nan"], "above 0, got nan"),
        (["--space", "n_restarts=1,4"], "n_restarts, which needs tune=True"),
        (["--space", "max_depth=1,2", "--set", "max_depth=3"], "both name max_depth"),
        (["--space", "max_depth=1,2", "--space", "max_depth=3,4"], "max_depth twice"),
    ],
)
def test_what_cannot_be_searched_is_a_sentence(table, tmp_path, capsys, options, said):
    home = str(tmp_path / "home")
    assert main(["sweep", table, *CART, *options, "--home", home]) == 2
    assert said in capsys.readouterr().err
    assert RunStore(home).runs() == []


def test_a_trial_lists_no_setting_that_changed_nothing(table, tmp_path):
    """A poly loss's epsilon stood beside trials of another loss."""
    store = RunStore(tmp_path / "home")
    arguments = ["sweep", table, "--target", "species", "--home", str(store.home)]
    frame, problem = read_problem(build_parser().parse_args(arguments))
    tried = {"loss": Values(("focal", "poly")), "poly_epsilon": Range(2.0, 5.0)}
    problem = store_problem(store, frame, problem)
    run_id = create_sweep(store, "gradtree", {}, problem, SweepPlan(tried))
    study = open_study(store.folder(run_id))
    for loss in ("focal", "poly"):
        study.enqueue_trial({"loss": loss, "poly_epsilon": 3.0})
        trial = study.ask()
        suggest(trial, tried)
        study.tell(trial, 0.5)
    found = trial_table(study, store.run(run_id))["poly_epsilon"]
    assert found.isna().tolist() == [True, False]
    assert trial_table(study)["poly_epsilon"].tolist() == [3.0, 3.0]
