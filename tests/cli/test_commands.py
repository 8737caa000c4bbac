"""Every command: its help, its exit codes, JSON, completion, and refusals."""

import argparse
import json
import re

import pandas as pd
import pytest

from tests.pages.stores import add_run
from treelab.cli.arguments import EXAMPLES
from treelab.cli.main import build_parser, main
from treelab.data.reading.formats import guarded
from treelab.data.reading.table_error import TableError
from treelab.runs.store.run_store import RunStore

COMMANDS = (
    *("train", "sweep", "cluster", "predict", "explain", "export"),
    *("report", "compare", "runs", "import", "doctor", "bench"),
)
DOCUMENTS = ("export", "report", "bench")  # what they write has formats of its own
TABLE = ("train", "sweep", "import", "cluster", "predict")  # read a table
MODEL = ("predict", "explain", "export", "report", "compare")  # name a run
TARGET = ("train", "sweep", "import")
SETTINGS = ("train", "sweep", "cluster")
SOME = ("runs", "doctor", "explain", "import")  # print JSON here; others elsewhere


def subparsers(parser: argparse.ArgumentParser) -> dict:
    """The parsers of a parser's commands, by name; none where it has none."""
    found = [each.choices for each in parser._actions if each.nargs == "A..."]
    return dict(found[0]) if found else {}  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A store with a run of CART's kind, a table, and the model in a file."""
    folder = tmp_path_factory.mktemp("desk")
    home, table = folder / "home", folder / "table.csv"
    run = add_run(RunStore(home), "cart")
    frame = pd.DataFrame({"size": [1.5, 2.5, 3.5, 4.5] * 12, "kind": [*"abab"] * 12})
    frame.to_csv(table, index=False)
    model = folder / "model.treelab"
    model.write_bytes(RunStore(home).model(run).to_bytes())
    return {"home": str(home), "table": str(table), "run": run, "model": str(model)}


def call(desk: dict, command: str, **other: str) -> list[str]:
    """A call of a command that would be done, but for what ``other`` replaces."""
    given = {"target": "kind", **desk, **other}
    table, run, target = given["table"], given["run"], ["--target", given["target"]]
    words = {
        "train": [table, *target, "--learner", "cart"],
        "sweep": [table, *target, "--learner", "cart"],
        "import": [given["model"], table, *target],
        "cluster": [table],
        "predict": [run, table],
        "explain": [run, "--row", "1"],
        "export": [run],
        "report": [run],
        "compare": [run, desk["run"]],
        "runs": [],
        "doctor": [],
    }[command]
    return [command, *words, "--home", given["home"]]


def is_one_sentence(message: str) -> bool:
    """Whether a refused command's last line says why; ahead are notes on the table."""
    *notes, line = message.strip().split("\n")
    said = [each.startswith("treelab: ") for each in [*notes, line]]
    return said == [False] * len(notes) + [True] and line.endswith(".")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples_and_exit_codes(command, capsys):
    assert EXAMPLES[command]
    with pytest.raises(SystemExit) as left:
        main([command, "--help"])
    assert left.value.code == 0
    printed = capsys.readouterr().out
    assert f"examples:\n  treelab {command}" in printed
    assert "exit codes: 0 done" in printed
    assert ("--json" in printed) == (command not in DOCUMENTS)


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_option_ends_with_2(command):
    with pytest.raises(SystemExit) as left:
        main([command, "--no-such-option"])
    assert left.value.code == 2


def test_a_shell_completes_every_option_of_every_command(capsys):
    assert main(["completion", "bash"]) == 0
    words = set(re.split(r"[\s=()]+", capsys.readouterr().out))
    commands = subparsers(build_parser("treelab"))
    assert set(COMMANDS) < set(commands) <= words
    for command in commands.values():
        for own in [command, *subparsers(command).values()]:
            assert set(own._option_string_actions) <= words


@pytest.mark.parametrize("command", TABLE)
def test_a_missing_file_is_a_sentence(command, desk, refused):
    message = refused(*call(desk, command, table="absent.csv"))
    assert message == "treelab: absent.csv: No such file or directory.\n"


def test_a_missing_model_is_a_sentence(desk, refused):
    message = refused(*call(desk, "import", model="absent.json"))
    assert message == "treelab: absent.json: No such file or directory.\n"


@pytest.mark.parametrize("command", MODEL)
def test_an_unknown_run_is_a_sentence(command, desk, refused):
    message = refused(*call(desk, command, run="cart-none"))
    assert is_one_sentence(message)
    assert "no run 'cart-none'" in message


@pytest.mark.parametrize("verb", ["--pause", "--resume"])
def test_an_unknown_run_cannot_be_paused_or_resumed(verb, desk, refused):
    message = refused(*call(desk, "runs"), verb, "cart-none")
    assert is_one_sentence(message)
    assert "no run 'cart-none'" in message


@pytest.mark.parametrize("command", TARGET)
def test_a_table_without_the_target_is_a_sentence(command, desk, refused):
    message = refused(*call(desk, command, target="sort"))
    assert is_one_sentence(message)
    assert "table.csv has no column 'sort'; it has 'size' and 'kind'." in message


def test_an_unknown_column_is_a_sentence(desk, refused):
    message = refused(*call(desk, "cluster"), "--known", "sort")
    assert message == "treelab: table.csv has no column 'sort'.\n"
    message = refused(*call(desk, "predict"))
    assert is_one_sentence(message)
    assert "'radius'" in message  # which the model reads
    message = refused(*call(desk, "train"), "--dates", "sort:month")
    assert message == "treelab: table.csv has no column 'sort' of dates.\n"


@pytest.mark.parametrize("command", SETTINGS)
@pytest.mark.parametrize("setting", ["height=3", "max_depth=x", "max_depth"])
def test_a_wrong_setting_is_a_sentence(command, setting, desk, refused):
    assert is_one_sentence(refused(*call(desk, command), "--set", setting))


@pytest.mark.parametrize("command", SETTINGS)
def test_a_wrong_device_is_refused_before_anything_is_stored(command, desk, capsys):
    with pytest.raises(SystemExit) as left:
        main([*call(desk, command), "--device", "tpu"])
    assert left.value.code == 2
    assert "'tpu' is none of auto, cpu, cuda and cuda:N" in capsys.readouterr().err


@pytest.mark.parametrize("command", TABLE)
def test_openml_without_a_network_is_a_sentence(command, desk, refused, monkeypatch):
    def offline(*_, asked: str, **__):
        raise TableError(f"OpenML cannot be reached, and {asked!r} was not fetched.")

    monkeypatch.setattr("treelab.data.openml.run_guarded", offline)
    message = refused(*call(desk, command, table="openml:adult"))
    assert is_one_sentence(message)
    assert "'adult' was not fetched" in message
    assert guarded.run_guarded is not offline


@pytest.mark.parametrize("slot", ["gpu:0", "cuda", "cpu:0,", "cluster,cpu:0"])
def test_a_worker_of_an_unknown_slot_does_not_start(slot, capsys):
    with pytest.raises(SystemExit):
        main(["worker", "--slot", slot])
    assert "none of cpu:N, cuda:N, quick and cluster" in capsys.readouterr().err


def test_what_is_said_of_cells_holds_for_tables_of_openml(desk, refused, monkeypatch):
    def fetched(*_, **__):
        return {"title": "sizes (OpenML 1)", "notes": []}, b"size,kind\n1,a\n-9,b\n"

    monkeypatch.setattr("treelab.data.openml.run_guarded", fetched)
    train = "train", "openml:1", "--target", "none", "--home", desk["home"]
    assert '"-9" count as missing: 1 in' in refused(*train, "--missing", "size:-9")
    assert "--decimal is of a file" in refused(*train, "--decimal", ",")


def test_a_folder_without_a_store_is_a_sentence(tmp_path, desk, refused):
    home = str(tmp_path / "none")
    assert is_one_sentence(refused(*call(desk, "doctor", home=home)))


def test_what_is_refused_leaves_nothing_behind(desk):
    store = RunStore(desk["home"])
    assert [run.id for run in store.runs()] == [desk["run"]]
    assert len(store.tables()) == 1


@pytest.mark.parametrize(
    "command", [*SOME, pytest.param("cluster", marks=pytest.mark.slow)]
)
def test_json_is_all_that_is_printed(command, desk, tmp_path, capsys):
    other: dict = {"home": str(tmp_path)} if command in TABLE else {}
    if command == "import":
        store = RunStore(desk["home"])
        file = tmp_path / "own.csv"
        store.table(store.run(desk["run"]).problem.table_id).to_csv(file, index=False)
        other["table"] = str(file)
    more = ["--set", "max_epochs=2"] if command == "cluster" else []
    assert main([*call(desk, command, **other), *more, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)
