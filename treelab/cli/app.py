"""``treelab app``: open the dashboard, from a checkout or a wheel."""

import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import treelab
from treelab.cli.arguments import command

PACKAGE = Path(treelab.__file__).parent


def script() -> Path:
    """Return ``app.py``: of the wheel, or of the checkout that treelab lies in."""
    installed = PACKAGE / "dashboard" / "app.py"
    return installed if installed.exists() else PACKAGE.parent / "app.py"


@command(
    "app",
    "open the dashboard in a browser",
    """
    Opens the dashboard in a browser; Ctrl-C ends it. What follows -- is given to
    streamlit, see streamlit run --help.

    --port  (default: 8501)
    options -- OPTION  of streamlit
    """,
    port={"type": int, "default": 8501},
    options={"nargs": "*"},
)
def _app(chosen: Namespace) -> int:
    """Become Streamlit, which a signal to this process then ends."""
    options = ["--server.port", str(chosen.port), *chosen.options]
    call = [sys.executable, "-m", "streamlit", "run", str(script()), *options]
    if os.name != "nt":  # where exec would leave the console
        os.execv(sys.executable, call)
    return subprocess.call(call)
