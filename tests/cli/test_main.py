"""Every command has help, and the module runs from the shell."""

import math
import shlex
import subprocess
import sys

import numpy as np
import pytest

from treelab.cli.arguments import EXAMPLES, json_text
from treelab.cli.completion import SHELLS
from treelab.cli.main import build_parser, main


@pytest.mark.parametrize(
    "command", ["", "train", "predict", "export", "runs", "worker", "bench"]
)
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as left:
        main([*command.split(), "--help"])
    assert left.value.code == 0
    assert "usage: treelab" in capsys.readouterr().out


@pytest.mark.slow
def test_the_module_runs_from_the_shell():
    done = subprocess.run(
        [sys.executable, "-m", "treelab", "--help"], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "bench" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_calls_that_the_parser_takes(name, capsys):
    for line in EXAMPLES[name]:
        call = shlex.split(line.split(" | ")[0].split(" > ")[0])
        parsed = build_parser().parse_args(call)
        assert callable(parsed.command)
    with pytest.raises(SystemExit):
        main([name, "--help"])
    assert f"examples:\n  treelab {name}" in capsys.readouterr().out


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_gets_a_script_that_completes_every_command(shell, capsys):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for word in ("treelab", "train", "predict", "--columns"):
        assert word in script


def test_what_is_not_known_is_null_in_json():
    facts = {"r2": math.nan, "rows": np.int64(1), "label": np.str_("a")}
    assert json_text(facts, indent=None) == '{"r2": null, "rows": 1, "label": "a"}'
