"""``treelab app``: open the dashboard, from a checkout or a wheel."""

import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import treelab

PACKAGE = Path(treelab.__file__).parent


def add_command(commands) -> None:
    """Add ``app`` to the commands."""
    parser = commands.add_parser(
        "app",
        help="open the dashboard in a browser",
        description="Opens the dashboard in a browser; Ctrl-C ends it. What follows -- "
        "is given to streamlit, see streamlit run --help.",
    )
    parser.add_argument("--port", type=int, default=8501, help="(default: 8501)")
    parser.add_argument("options", nargs="*", metavar="-- OPTION", help="of streamlit")
    parser.set_defaults(command=_app)


def script() -> Path:
    """Return ``app.py``: of the wheel, or of the checkout that treelab lies in."""
    installed = PACKAGE / "dashboard" / "app.py"
    return installed if installed.exists() else PACKAGE.parent / "app.py"


def _app(chosen: Namespace) -> int:
    """Become Streamlit, which a signal to this process then ends."""
    options = ["--server.port", str(chosen.port), *chosen.options]
    command = [sys.executable, "-m", "streamlit", "run", str(script()), *options]
    if os.name != "nt":  # where exec would leave the console
        os.execv(sys.executable, command)
    return subprocess.call(command)
