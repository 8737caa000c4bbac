"""Over a damaged data folder each command ends as one sentence and the exit code 2."""

import pytest

from treelab.cli.main import main
from treelab.runs.store.database import writing
from treelab.runs.store.run_store import RunStore


def table_file():
    """The file of the only table."""
    (path,) = (RunStore().home / "tables").iterdir()
    return path


def lose_database(home, content=b""):
    """Leave a file of other content in the database's place."""
    for file in home.glob("treelab.sqlite*"):
        file.unlink()
    (home / "treelab.sqlite").write_bytes(content)


@pytest.mark.slow
def test_a_damaged_table_is_named_and_training_on_it_again_mends_it(
    trained, table, refused, capsys
):
    content = table_file().read_bytes()
    table_file().write_bytes(content[:-9])
    for command in (["explain", trained, "--row", "1"], ["report", trained]):
        assert "Give the same table again" in refused(*command)
    assert main(["doctor"]) == 1
    assert "Give the same table again" in capsys.readouterr().out
    train = ["train", table, "--target", "kind", "--learner", "cart"]
    assert main([*train, "--set", "tune=false"]) == 0
    assert table_file().read_bytes() == content
    assert main(["explain", trained, "--row", "1"]) == 0
    assert main(["doctor"]) == 0


def test_a_damaged_model_is_named(trained, table, refused):
    path = RunStore().folder(trained) / "model" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-9])
    commands = (["export", trained], ["predict", trained, table])
    for command in (*commands, ["explain", trained, "--row", "1"]):
        assert "train it again" in refused(*command)


@pytest.mark.parametrize(
    ("content", "words"), [(b"", "Put a backup in its place"), (b"x" * 9999, "damaged")]
)
def test_a_lost_database_is_named(trained, table, home, refused, content, words):
    lose_database(home, content)
    train = ["train", table, "--target", "kind", "--learner", "cart"]
    for command in (["runs"], ["export", trained], train):
        assert words in refused(*command)
    assert (home / "treelab.sqlite").read_bytes() == content


def test_lost_runs_are_noticed_and_their_models_imported(
    trained, table, home, refused, capsys
):
    with writing(RunStore().database) as db:
        db.execute("DELETE FROM runs")
        db.execute("DELETE FROM tables")
    for command in (["runs"], ["export", trained]):
        assert "holds 1 run folder and 1 table" in refused(*command)
    model = str(home / "runs" / trained / "model")
    assert main(["import", model, table, "--target", "kind"]) == 0
    capsys.readouterr()
    assert main(["runs"]) == 0
    assert "Imported" in capsys.readouterr().out
