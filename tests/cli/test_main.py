"""Every command has help, and the module runs from the shell."""

import subprocess
import sys

import pytest

from treelab.cli.main import main


@pytest.mark.parametrize(
    "command", ["", "train", "predict", "export", "runs", "worker", "bench"]
)
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as left:
        main([*command.split(), "--help"])
    assert left.value.code == 0
    assert "usage: python -m treelab" in capsys.readouterr().out


def test_the_module_runs_from_the_shell():
    done = subprocess.run(
        [sys.executable, "-m", "treelab", "--help"], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "bench" in done.stdout
    assert done.stderr == ""
