"""The viewer's modules that need no browser, tested under Node."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


def test_the_modules_pass_their_node_tests():
    node = shutil.which("node")
    if node is None:
        missing = pytest.fail if os.environ.get("CI") else pytest.skip
        missing("Node is not installed.")
    files = sorted(str(path) for path in FOLDER.glob("*.test.mjs"))
    assert files
    done = subprocess.run(
        [node, "--test", *files], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
