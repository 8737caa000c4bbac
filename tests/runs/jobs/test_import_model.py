"""A model from elsewhere becomes a run, or is refused in a sentence."""

import json
import os

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import treelab
from tests.runs.conftest import small_table
from treelab.cli.main import main
from treelab.data.problem import make_problem
from treelab.runs.jobs.import_model import (
    NOTE,
    import_model,
    model_from_bytes,
    read_model,
)
from treelab.runs.store.run_store import RunStore


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A run store of our own."""
    monkeypatch.setenv("TREELAB_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.fixture
def table(tmp_path) -> str:
    """A CSV file."""
    small_table().to_csv(tmp_path / "small.csv", index=False)
    return str(tmp_path / "small.csv")


def encoded() -> pd.DataFrame:
    """The small table's numbers."""
    return small_table()[["size"]]


def imported(capsys, *arguments):
    """Import, and return the run that came of it."""
    assert main(["import", *map(str, arguments)]) == 0, capsys.readouterr().err
    return RunStore().runs()[0]


def refused(capsys, *arguments) -> str:
    """Import what has to fail; return its sentence."""
    assert main(["import", *map(str, arguments)]) == 2
    message = capsys.readouterr().err
    assert "Traceback" not in message
    assert RunStore().runs() == []
    return message


def test_a_tree_of_scikit_learn_becomes_a_run_with_scores(home, table, capsys):
    frame = small_table()
    model = DecisionTreeClassifier(max_depth=3, random_state=0)
    model.fit(encoded(), frame["kind"])
    treelab.from_sklearn(model).save(home / "saved")
    run = imported(capsys, home / "saved", table, "--target", "kind")
    assert (run.state, run.learner, run.title) == (
        "done",
        "imported",
        "Imported · small.csv",
    )
    split = run.problem.split(RunStore().table(run.problem.table_id))
    X, y, _ = split.rows("test")
    assert run.metrics["test"]["accuracy"] == np.mean(model.predict(X[["size"]]) == y)
    stored = RunStore().model(run.id)
    assert NOTE in stored.notes
    assert stored.target == "kind"
    assert stored.n_rows[0] == len(frame)


def test_exported_json_comes_back_with_the_same_predictions(home, table, capsys):
    train = ["train", table, "--target", "kind", "--learner", "cart"]
    assert main([*train, "--set", "tune=false"]) == 0
    first = RunStore().runs()[0]
    out = home / "tree.json"
    assert main(["export", first.id, "--format", "json", "-o", str(out)]) == 0
    run = imported(capsys, out, table, "--target", "kind", "--name", "Again")
    assert run.title == "Again"
    assert run.metrics == first.metrics


def test_one_tree_of_xgboost_names_its_classes(home, table, capsys):
    frame = small_table()
    model = xgboost.XGBClassifier(n_estimators=1, max_depth=2)
    model.fit(encoded(), (frame["kind"] == "yes").astype(int))
    model.save_model(home / "model.json")
    given = ["--target", "kind", "--classes", "no", "yes"]
    run = imported(capsys, home / "model.json", table, *given)
    stored = RunStore().model(run.id)
    wanted = np.array(["no", "yes"])[model.predict(encoded())]
    assert np.array_equal(stored.predict(encoded()), wanted)
    assert stored.n_rows[0] == len(run.problem.split(frame).y_train)


def test_what_does_not_fit_the_table_is_refused(home, table, capsys):
    frame = small_table().rename(columns={"size": "length"})
    model = DecisionTreeClassifier().fit(frame[["length"]], frame["kind"])
    treelab.from_sklearn(model).save(home / "other")
    message = refused(capsys, home / "other", table, "--target", "kind")
    assert "reads 'length', which small.csv lacks" in message
    number = DecisionTreeRegressor(max_depth=1).fit(encoded(), range(len(frame)))
    treelab.from_sklearn(number).save(home / "number")
    message = refused(capsys, home / "number", table, "--target", "kind")
    assert "predicts numbers, but 'kind'" in message
    labels = DecisionTreeClassifier(max_depth=1).fit(
        encoded(), np.where(frame["kind"] == "yes", "Yes", "no")
    )
    treelab.from_sklearn(labels).save(home / "labels")
    message = refused(capsys, home / "labels", table, "--target", "kind")
    assert "'kind' holds 'yes', and the model predicts only" in message


def test_a_file_of_anything_else_is_refused_and_not_run(home, table, capsys):
    path = home / "model.json"
    path.write_bytes(b"\x80\x04cos\nsystem\n")
    assert "is not JSON" in refused(capsys, path, table, "--target", "kind")
    path.write_text(json.dumps({"type": "Forest"}))
    assert "it has no arrays" in refused(capsys, path, table, "--target", "kind")
    path.write_text(json.dumps([1, 2]))
    assert "not an xgboost model" in refused(capsys, path, table, "--target", "kind")
    assert "No such file" in refused(capsys, home / "no", table, "--target", "kind")


def test_a_tree_that_does_not_know_how_values_spread_takes_the_tables_rows(
    home, table, capsys
):
    frame = small_table()
    y = np.arange(len(frame)) % 7 + frame["size"].fillna(0)
    frame.assign(much=y).to_csv(table, index=False)
    model = DecisionTreeRegressor(criterion="absolute_error", max_depth=2)
    treelab.from_sklearn(model.fit(encoded(), y)).save(home / "saved")
    run = imported(capsys, home / "saved", table, "--target", "much")
    X, y, _ = run.problem.split(RunStore().table(run.problem.table_id)).rows("train")
    stored = RunStore().model(run.id)
    assert stored.impurity[0] == pytest.approx(np.var(y))
    assert stored.n_rows[0] == len(y)
    assert np.array_equal(stored.predict(X), model.predict(X[["size"]]))


def test_boosted_trees_become_an_ensemble(home, table, capsys):
    frame = small_table()
    model = xgboost.XGBClassifier(n_estimators=3, max_depth=3)
    model.fit(encoded(), frame["kind"] == "yes")
    model.save_model(home / "model.json")
    given = ["--target", "kind", "--classes", "no", "yes"]
    run = imported(capsys, home / "model.json", table, *given)
    stored = RunStore().model(run.id)
    assert stored.n_estimators == run.summary["estimators"] == 3
    assert NOTE in stored.notes
    assert stored.predict_proba(encoded()) == pytest.approx(
        model.predict_proba(encoded()), abs=1e-5
    )


def test_what_an_xgboost_file_does_not_tell_is_given_beside_it(home, table, capsys):
    X = encoded()
    X.loc[::3, "size"] = -999
    y = (small_table()["kind"] == "yes").astype(int)
    model = xgboost.XGBClassifier(n_estimators=6, max_depth=2, missing=-999).fit(X, y)
    model.save_model(home / "model.json")
    given = ["--target", "kind", "--classes", "no", "yes"]
    options = ["--model-missing", "-999", "--rounds", "4"]
    run = imported(capsys, home / "model.json", table, *given, *options)
    stored = RunStore().model(run.id)
    assert stored.n_estimators == 4
    wanted = model.predict_proba(X, iteration_range=(0, 4))
    assert stored.predict_proba(X) == pytest.approx(wanted, abs=1e-6)
    assert "-999 counts as missing, as in the training of this model." in stored.notes
    run = imported(capsys, home / "model.json", table, *given)
    notes = RunStore().model(run.id).notes
    assert any("does not tell which number" in note for note in notes)


def test_a_model_of_lightgbm_becomes_a_run(home, table, capsys):
    X, y = encoded(), small_table()["kind"]
    model = lightgbm.LGBMClassifier(n_estimators=5, min_child_samples=2, verbose=-1)
    model.fit(X, y).booster_.save_model(home / "model.txt")
    given = ["--target", "kind", "--classes", *model.classes_]
    run = imported(capsys, home / "model.txt", table, *given)
    stored = RunStore().model(run.id)
    assert stored.n_estimators == 5
    wanted = model.predict_proba(X)
    assert stored.predict_proba(X) == pytest.approx(wanted, abs=1e-12)


def test_categories_that_are_numbers_of_a_data_frame_stay_known(home):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"size": rng.choice([0.5, 1.0, 2.5], 120), "x": rng.random(120)}
    )
    frame["y"] = 3.0 * (frame["size"] == 1) + frame["x"]
    X = frame[["size", "x"]].astype({"size": "category"})
    settings = {"n_estimators": 3, "verbose": -1, "cat_smooth": 1}
    model = lightgbm.LGBMRegressor(**settings, min_data_per_group=5).fit(X, frame["y"])
    store = RunStore()
    table_id = store.add_table(frame, "sizes")
    problem = make_problem(store.table(table_id), "y", table_id=table_id)
    run = import_model(store, treelab.from_lightgbm(model), problem)
    test = store.run(run).problem.split(store.table(table_id)).rows("test")
    assert set(test.X["size"]) == {"0.5", "1", "2.5"}
    wanted = model.predict(X.loc[test.X.index])
    assert store.model(run).predict(test.X) == pytest.approx(wanted)
    assert store.model(run).predict(frame) == pytest.approx(model.predict(X))
    written = frame.reindex(columns=[*X]).astype(float)
    written[:9] = np.nan
    written.to_csv(home / "new.csv", index=False)
    command = ["predict", run, str(home / "new.csv"), "--output", str(home / "p.csv")]
    assert main(command) == 0
    X[:9] = np.nan
    found = pd.read_csv(home / "p.csv")["prediction"]
    assert found.to_numpy() == pytest.approx(model.predict(X))


def test_lost_categories_can_be_named(home, capsys):
    names = ["rød", "blå", "grün"]
    frame = pd.DataFrame({"hue": names * 40, "n": np.arange(120.0)})
    frame["y"] = np.where(frame["hue"] == "blå", frame["n"], 200.0)
    frame.to_csv(home / "hues.csv", index=False)
    X = frame[["hue", "n"]].astype({"hue": pd.CategoricalDtype(names)})
    model = xgboost.XGBRegressor(
        n_estimators=2, max_depth=2, enable_categorical=True
    ).fit(X, frame["y"])
    model.save_model(home / "m.json")
    given = [home / "m.json", home / "hues.csv", "--target", "y"]
    assert "are lost" in refused(capsys, *given)
    assert "column=name" in refused(capsys, *given, "--categories", "rød,blå")
    run = imported(capsys, *given, "--categories", f"hue={','.join(names)}")
    predicted = RunStore().model(run.id).predict(frame)
    assert predicted == pytest.approx(model.predict(X), rel=1e-5)


def test_what_a_file_tells_itself_cannot_be_given(home, table, capsys):
    model = DecisionTreeClassifier(max_depth=2).fit(encoded(), small_table()["kind"])
    ours = treelab.from_sklearn(model)
    ours.save(home / "folder")
    (home / "ours.json").write_text(json.dumps(ours.to_dict()))
    for name in ("folder", "ours.json"):
        given = [home / name, table, "--target", "kind", "--model-missing", "-999"]
        assert "tells this itself" in refused(capsys, *given)
    booster = lightgbm.LGBMClassifier(n_estimators=2, verbose=-1)
    booster.fit(encoded(), small_table()["kind"]).booster_.save_model(home / "m.txt")
    given = [home / "m.txt", table, "--target", "kind", "--model-missing", "-999"]
    assert "tells itself what counts as missing" in refused(capsys, *given)


def test_a_forest_of_classes_becomes_a_run_that_predicts_alike(home, table, capsys):
    model = RandomForestClassifier(3, max_depth=6, random_state=0)
    model.fit(encoded(), small_table()["kind"])
    text = json.dumps(treelab.from_sklearn(model).to_dict())
    (home / "forest.json").write_text(text)
    run = imported(capsys, home / "forest.json", table, "--target", "kind")
    stored = RunStore().model(run.id)
    assert stored.n_estimators == 3
    assert stored.leaf_output == "probabilities"
    wanted = model.predict_proba(encoded())
    assert stored.predict_proba(encoded()) == pytest.approx(wanted, abs=1e-12)
    forest = treelab.from_sklearn(model)  # itself, too, and not only its file
    again = import_model(RunStore(), forest, run.problem)
    assert RunStore().model(again).n_estimators == 3
    for name in ("to_text", "to_rules", "to_dot", "notebook_html"):
        with pytest.raises(TypeError, match="One tree can be shown, got a Forest"):
            getattr(treelab, name)(forest)


def test_a_text_is_no_path_to_a_model_of_this_machine(tmp_path):
    model = DecisionTreeRegressor(max_depth=1).fit([[0.0], [1.0]], [0.0, 1.0])
    path = tmp_path / "secret.json"
    path.write_text(json.dumps(treelab.from_sklearn(model).to_dict()))
    for text in (json.dumps(str(path)), "3", "null", '""'):
        with pytest.raises(ValueError, match="holds no model"):
            model_from_bytes(text.encode(), "m.json")


def test_a_model_beyond_the_limit_is_refused_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("treelab.runs.jobs.import_model.MOST_BYTES", 2**20)
    text = b"[" + b"[]," * 2**19 + b"[]]"
    with pytest.raises(ValueError, match="larger than 1 MiB"):
        model_from_bytes(text, "m.json")
    (tmp_path / "m.json").write_bytes(text)
    with pytest.raises(ValueError, match="larger than 1 MiB"):
        read_model(tmp_path / "m.json")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_a_pipe_is_no_model(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(ValueError, match="is a pipe or a device"):
        read_model(tmp_path / "pipe.json")


def test_columns_are_read_as_a_model_was_trained(home, table, capsys):
    codes = small_table()["color"].astype("category")
    X = encoded().assign(color=codes)
    model = xgboost.XGBRegressor(n_estimators=3, enable_categorical=True)
    model.fit(X, codes.cat.codes + encoded()["size"].fillna(0))
    model.save_model(home / "model.json")
    small_table().assign(much=range(120)).to_csv(table, index=False)
    asked = home / "model.json", table, "--target", "much"
    for option in ("--without size", "--kind size:category", "--rare 50"):
        name, value = option.split()
        message = refused(capsys, *asked, name, value)
        assert (
            f"{name} would change '{'color' if '50' in value else 'size'}'" in message
        )
    imported(capsys, *asked, "--kind", "size:number", "--without", "kind")


def test_what_a_file_does_not_tell_is_said(home, table, capsys):
    model = xgboost.XGBRegressor(n_estimators=2).fit(encoded(), np.arange(120))
    model.save_model(home / "model.json")
    frame = small_table().assign(much=np.arange(len(small_table())))
    frame.to_csv(table, index=False)
    arguments = ["import", str(home / "model.json"), table, "--target", "much"]
    assert main(arguments) == 0
    said = capsys.readouterr().err
    assert "does not tell which number counted as missing" in said
    assert said.count(NOTE) == 1
