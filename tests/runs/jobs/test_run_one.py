"""One run, from its id to its model."""

from dataclasses import replace

import numpy as np
import pytest

from tests.runs.conftest import small_table, taken_up
from treelab.data.problem import weighted_problem
from treelab.evaluation.metrics import BASELINE, BASELINE_ERROR, scores
from treelab.learners.registry import LEARNERS
from treelab.runs.jobs.derived import save_pruned
from treelab.runs.jobs.fit import fit_learner
from treelab.runs.jobs.memory import needed_bytes
from treelab.runs.jobs.run_one import error_sentence, run_one
from treelab.runs.store.states import TRAINER_ENDED
from treelab.trees.text import to_text

ENDED = "The program that trained it ended."


def train(store, problem, learner="slow", settings=None, **more):
    """Create a run, train it here, and return how it is then."""
    run_id = store.create(learner, settings or {}, problem, **more)
    state = run_one(run_id, store.home)
    run = store.run(run_id)
    assert run.state == state
    return run


@pytest.mark.parametrize("learner", ["cart", "slow"])
def test_a_run_ends_with_a_model_whose_scores_are_the_ones_shown(
    store, problem, learner
):
    run = train(store, problem, learner)
    assert (run.state, run.error, run.has_model) == ("done", "", True)
    assert run.summary["rows"] == {"train": 72, "valid": 24, "test": 24}
    assert run.summary["device"]
    model = store.model(run.id)
    assert run.summary["leaves"] == model.n_leaves
    assert run.summary["depth"] == model.depth
    assert model.target == "kind"
    split = problem.split(store.table(problem.table_id))
    for name, shown in run.metrics.items():
        X, y, _ = split.rows(name)
        proba = model.predict_proba(X)
        again = scores("binary", y, model.predict(X), proba, model.classes)
        assert {key: shown[key] for key in again} == pytest.approx(again)
        assert set(shown) - set(again) <= {BASELINE, BASELINE_ERROR}


@pytest.mark.slow
def test_a_run_says_by_what_its_size_was_chosen(store, problem):
    frame = store.table(problem.table_id)
    first, second = (str(label) for label in sorted(frame["kind"].unique()))
    costs = {"constraints": {"class_costs": {first: {second: 9.0}}}}
    run = train(store, problem, "cart", costs)
    assert run.held_out_title == "cost saved"
    smallest = store.path(run.id).trees[0]
    assert smallest.n_leaves != run.summary["leaves"]
    saved = save_pruned(store, run, smallest)
    assert store.run(saved).held_out_title == "cost saved"
    before = replace(run, summary={"leaves": 3})  # of a version that took macro F1
    assert before.held_out_title == "macro F1"
    assert train(store, problem, "cart").held_out_title == "macro F1"


def test_a_run_saves_its_curve_and_a_tree(store, problem):
    run = train(store, problem, settings={"epochs": 7, "pause": 0.06})
    assert store.events(run.id)["epoch"].tolist()[:1] == [1]
    assert store.events(run.id)["epoch"].iloc[-1] == 7
    assert (run.epoch, run.max_epochs) == (7, 7)
    assert store.snapshot(run.id, store.snapshots(run.id)[0]).n_leaves > 1


@pytest.mark.parametrize(
    ("learner", "settings"),
    [
        ("cart", {}),
        ("gradtree", {"max_leaf_nodes": 4, "n_restarts": 2, "n_steps": 5}),
        ("grande", {"n_estimators": 4, "max_epochs": 3}),
        ("get", {"max_depth": 2, "n_steps": 3, "n_starts": 2}),
        (
            "argmin",
            {
                "depth": 2,
                "pruning_strength": (0.0, 9.0),
                "max_epochs": 3,
                "n_restarts": 2,
            },
        ),
        ("optimal", {"max_depth": 2}),
    ],
)
def test_a_run_of_every_learner_says_how_its_model_came_about(
    store, problem, learner, settings
):
    if learner not in LEARNERS:
        pytest.skip(f"{learner} is not installed")
    run = train(store, problem, learner, settings)
    assert run.error == ""
    assert run.origin.trained == (learner not in ("cart", "optimal"))
    if run.origin.trained:
        assert store.events(run.id)["epoch"].iloc[0] == 0  # the curve has its start


@pytest.mark.slow
def test_the_seed_of_the_problem_is_that_of_the_split_and_the_training(store, problem):
    one, two = (train(store, problem, "cart") for _ in range(2))
    assert to_text(store.model(one.id)) == to_text(store.model(two.id))


def test_a_run_on_a_damaged_table_fails_with_a_sentence(store, problem):
    path = store.home / "tables" / f"{problem.table_id}.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    run = train(store, problem)
    assert run.state == "failed"
    assert run.error.startswith("The table 'small' cannot be read. Its file ")
    assert run.error.endswith("Or put the file back from a backup.")


def test_a_failure_is_one_sentence_and_its_traceback_is_in_the_log(store, problem):
    run = train(store, problem, settings={"fail_at": 3})
    assert run.state == "failed"
    assert run.error == "The loss was not a number from epoch 3 on."
    assert not run.has_model
    assert "Traceback" in store.log(run.id)
    assert "slow_tree.py" in store.log(run.id)
    assert store.events(run.id)["epoch"].tolist() == [1, 2]


def test_a_run_of_which_not_all_could_be_saved_has_no_model(
    store, problem, monkeypatch
):
    def full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr(type(store), "add_path", full)
    run = train(store, problem, "cart", {"tune": False})
    assert (run.state, run.error) == ("failed", "No space left on device")
    assert not run.has_model
    assert not (store.folder(run.id) / "model").exists()


def test_a_stopped_run_saves_its_best_model_so_far(store, problem):
    run_id = store.create("slow", {"epochs": 1000, "pause": 0.01}, problem)

    def stop(report):
        if report.epoch == 3:
            store.request_stop(run_id)

    assert run_one(run_id, store.home, callbacks=[stop]) == "stopped"
    run = store.run(run_id)
    assert run.has_model
    assert run.metrics["test"]["accuracy"] > 0.5
    assert run.epoch < 100


def test_a_callback_can_stop_a_run(store, problem):
    run_id = store.create("slow", {"epochs": 1000}, problem)
    asked = run_one(run_id, store.home, callbacks=[lambda report: report.epoch == 3])
    assert asked == "stopped"
    assert store.run(run_id).epoch == 3


def test_a_run_is_trained_once(store, problem):
    run = train(store, problem, "cart")
    assert run_one(run.id, store.home) == "done"
    assert store.run(run.id) == run


def test_leaving_the_program_interrupts_the_run(store, problem):
    run_id = store.create("slow", {}, problem)

    def leave(report):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_one(run_id, store.home, callbacks=[leave])
    assert (store.run(run_id).state, store.run(run_id).error) == ("interrupted", ENDED)


def test_a_run_deleted_while_it_trains_leaves_nothing(store, problem):
    run_id = store.create("slow", {"epochs": 1000, "pause": 0.01}, problem)

    def delete(report):
        store.delete(run_id)

    run_one(run_id, store.home, callbacks=[delete])
    assert store.runs() == []
    assert not store.folder(run_id).exists()


def test_a_regression_has_its_unit(store):
    from treelab.data.problem import Problem

    table = small_table()
    table["weight"] = np.linspace(1, 3, len(table))
    problem = Problem(
        store.add_table(table, "scales"),
        "scales",
        "weight",
        ("size", "color"),
        task="regression",
        units={"weight": "kg", "size": "cm"},
    )
    run = train(store, problem, "cart")
    model = store.model(run.id)
    assert set(run.metrics["test"]) == {"r2", "rmse", "mae", "n_rows", "coverage"}
    assert (model.target, model.target_unit) == ("weight", "kg")
    assert "cm" in [feature.unit for feature in model.features]


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ValueError("depth must be >= 1.\nmore"), "depth must be >= 1."),
        (MemoryError(), "This machine has too little free memory for this run."),
        (KeyError("x"), "KeyError: 'x'. The log has the traceback."),
        (RuntimeError(), "RuntimeError: no message. The log has the traceback."),
    ],
)
def test_an_error_becomes_one_sentence(error, sentence):
    assert error_sentence(error) == sentence


class OutOfMemoryError(RuntimeError):
    """As torch's is called."""


def fail_first(monkeypatch, n_failures):
    """Let the first fits run out of a GPU's memory; return the batch sizes seen."""
    seen = []

    def fit(store, run, callbacks):
        seen.append(run.settings["batch_size"])
        if len(seen) <= n_failures:
            raise OutOfMemoryError("CUDA out of memory")
        return fit_learner(store, run, callbacks)

    monkeypatch.setattr("treelab.runs.jobs.run_one.fit_learner", fit)
    return seen


@pytest.mark.parametrize("n_failures", [1, 2])
def test_where_a_gpu_is_too_small_the_batch_is_halved_once(
    store, problem, monkeypatch, n_failures
):
    seen = fail_first(monkeypatch, n_failures)
    tiny = {"recipe": "paper", "n_restarts": 1, "max_epochs": 2, "batch_size": 32}
    run = train(store, problem, "gradtree", tiny)
    assert seen == [32, 16]
    assert run.settings["batch_size"] == 16
    if n_failures == 1:
        assert "batches of 32 rows" in str(run.summary["notes"])
    else:
        assert run.state == "failed"
        assert "try a smaller batch_size" in run.error


@pytest.mark.parametrize(
    ("learner", "settings", "word"),
    [
        ("gradtree", {"max_leaf_nodes": 8, "n_restarts": 10**6}, "n_restarts"),
        ("grande", {"n_estimators": 2**20, "depth": 10}, "n_estimators"),
        ("get", {"n_starts": 10**6}, "n_starts"),
        ("argmin", {"depth": 8, "batch_size": 10**6}, "batch_size"),
    ],
)
def test_a_training_that_cannot_fit_is_refused_before_it_begins(
    store, problem, monkeypatch, learner, settings, word
):
    small = 1e7 if learner == "argmin" else 1e9
    monkeypatch.setattr("treelab.runs.jobs.memory.free_bytes", lambda: small / 10)
    run = train(store, problem, learner, settings)
    assert run.state == "failed"
    assert "GB of memory, and 0." in run.error
    assert word in run.error


@pytest.mark.parametrize("learner", ["gradtree", "grande", "get"])
def test_each_class_takes_memory_of_its_own(problem, learner):
    settings = LEARNERS[learner].defaults("multiclass")
    needed = [needed_bytes(learner, settings, problem, 5000, n) for n in (3, 100, 200)]
    assert needed[2] - needed[1] > 0.9 * (needed[1] - needed[0]) > 1e6


def test_a_refused_training_names_its_classes(store, problem, monkeypatch):
    monkeypatch.setattr("treelab.runs.jobs.memory.free_bytes", lambda: 1e4)
    frame = store.table(problem.table_id)
    frame[problem.target] = [f"class {i % 30}" for i in range(len(frame))]
    many = replace(problem, table_id=store.add_table(frame, "many"), task="multiclass")
    assert ", 30 classes" in train(store, many, "gradtree", {}).error


@pytest.mark.parametrize("learner", [*LEARNERS])
def test_the_defaults_fit_into_little_memory_on_a_small_table(problem, learner):
    settings = LEARNERS[learner].defaults("binary")
    assert needed_bytes(learner, settings, problem, 1000) < 0.5e9


@pytest.mark.parametrize("is_taken", [True, False])
def test_who_was_taken_for_dead_leaves_the_run_to_others(store, problem, is_taken):
    """Its machine stood still, say, and the run was taken up elsewhere."""
    run_id = store.create("slow", {"epochs": 5}, problem)

    def take(report):
        if report.epoch == 2 and is_taken:
            taken_up(store, run_id)
        elif report.epoch == 2:
            assert store.finish(run_id, "interrupted", error=TRAINER_ENDED)

    state = run_one(run_id, store.home, callbacks=[take])
    run = store.run(run_id)
    assert state == "interrupted"
    assert run.state == ("running" if is_taken else "interrupted")
    assert not (store.folder(run_id) / "model").exists()
    assert store.events(run_id)["epoch"].max() <= 2


def test_who_was_taken_for_dead_and_fails_ends_no_run_of_others(store, problem):
    run_id = store.create("slow", {}, problem)

    def take(report):
        taken_up(store, run_id)
        raise ValueError("A mistake.")

    run_one(run_id, store.home, callbacks=[take])
    assert (store.run(run_id).state, store.run(run_id).error) == ("running", "")
    assert store.log(run_id) == ""


def test_who_was_taken_for_dead_halves_no_batch_of_others(store, problem, monkeypatch):
    def fit(store, run, callbacks):
        taken_up(store, run.id)
        (store.folder(run.id) / "checkpoint").mkdir()
        raise OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr("treelab.runs.jobs.run_one.fit_learner", fit)
    run_id = store.create("gradtree", {"recipe": "paper", "batch_size": 32}, problem)
    assert run_one(run_id, store.home) == "interrupted"
    assert store.run(run_id).settings["batch_size"] == 32
    assert (store.folder(run_id) / "checkpoint").exists()


@pytest.mark.parametrize("after", ["split_scores", "add_path", "add_model"])
def test_who_was_taken_for_dead_while_it_saves_writes_no_more(
    store, problem, monkeypatch, after
):
    """The run is taken up elsewhere after the scores, its trees by size, its model."""
    from treelab.runs.jobs import save_model

    owner, written = (save_model if after == "split_scores" else type(store)), []
    before = getattr(owner, after)

    def take(*given):
        found = before(*given)
        taken_up(store, run_id)
        (store.folder(run_id) / "checkpoint").mkdir(exist_ok=True)
        return found

    monkeypatch.setattr(owner, after, take)
    save = type(store)._save

    def note(own, run_id, name, stored):
        written.append(name)
        save(own, run_id, name, stored)

    monkeypatch.setattr(type(store), "_save", note)
    run_id = store.create("cart", {}, problem)
    assert run_one(run_id, store.home) == "interrupted"
    assert store.run(run_id).state == "running"
    all_of_it = ["path", "rashomon", "model"]
    n_written = {"split_scores": 0, "add_path": 1, "add_model": 3}[after]
    assert written == all_of_it[:n_written]
    assert (store.folder(run_id) / "checkpoint").is_dir()


def test_rows_that_count_alike_but_for_those_left_out_are_trained_on(store, problem):
    frame = small_table()
    frame["used"] = [float(place % 7 > 0) for place in range(len(frame))]
    table_id = store.add_table(frame, "small")
    weighted = weighted_problem(replace(problem, table_id=table_id), weight="used")
    run = train(store, weighted, "cart")
    assert (run.state, run.error) == ("done", "")
    assert store.rashomon(run.id) is not None
