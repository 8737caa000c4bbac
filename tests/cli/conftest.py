"""A run store of our own, a table in a file, and a trained run."""

import shutil

import pytest

from tests.runs.conftest import small_table
from tests.runs.workers.slow_tree import SPEC
from treelab.cli.main import main
from treelab.learners.registry import LEARNERS
from treelab.runs.store.run_store import RunStore


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A run store of our own, the slow tree among the learners."""
    monkeypatch.setenv("TREELAB_HOME", str(tmp_path / "home"))
    monkeypatch.setitem(LEARNERS, SPEC.key, SPEC)
    return tmp_path / "home"


@pytest.fixture
def table(tmp_path):
    """A CSV file."""
    path = tmp_path / "small.csv"
    small_table().to_csv(path, index=False)
    return str(path)


@pytest.fixture(scope="session")
def trained_home(tmp_path_factory):
    """A data folder with a CART run of the small table, to copy; and the run's id."""
    folder = tmp_path_factory.mktemp("trained")
    small_table().to_csv(folder / "small.csv", index=False)
    command = ["train", str(folder / "small.csv"), "--target", "kind"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREELAB_HOME", str(folder / "home"))
        command += ["--learner", "cart", "--set", "tune=false"]
        assert main(command) == 0
        return folder / "home", RunStore().runs()[0].id


@pytest.fixture
def trained(home, trained_home):
    """The id of a CART run."""
    made, run_id = trained_home
    shutil.copytree(made, home)
    return run_id


@pytest.fixture
def refused(capsys):
    """Run a command that has to fail; returns its sentence."""

    def run(*arguments: str) -> str:
        assert main(list(arguments)) == 2
        message = capsys.readouterr().err
        assert "Traceback" not in message
        return message

    return run
