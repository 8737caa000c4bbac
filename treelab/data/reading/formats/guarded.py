"""Reading a file in a process of its own, with little memory and little time.

Libraries in C and Rust unpack what a file says before anyone can count it, and end the
process where memory ends. So they run in another one, which may end.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from treelab.data.reading.table_error import ChoiceError, TableError

MOST_MEMORY = 3 * 2**29  # bytes that reading a file may take
MOST_SECONDS = 60
# Each thread's own arena reserves memory that counts as taken.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}

ROOT = Path(__file__).parents[4]  # the folder that treelab lies in


def run_guarded(
    module: str, content: bytes, name: str, **choices: object
) -> tuple[dict, bytes]:
    """Read a file by a module of this folder, in a process of its own.

    The ``module`` calls ``serve``; ``choices`` are what else its function takes, as
    JSON. Returned is what that returns. TableError if the file cannot be read, or takes
    too much memory or time.
    """
    command = (sys.executable, "-P", "-m", f"{__package__}.{module}")
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    try:
        done = subprocess.run(
            [*command, json.dumps({"name": name, **choices})],
            input=content,
            capture_output=True,
            timeout=MOST_SECONDS,
            env={**os.environ, "PYTHONPATH": path, **ONE_THREAD},
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise TableError(
            f"{name} takes more than {MOST_SECONDS} s to read. Save the table as CSV "
            "or Parquet, or take a sample of its rows."
        ) from error
    first, _, rest = done.stdout.partition(b"\n")
    if done.returncode == 1:  # Python's own, for an exception that nobody expected
        raise RuntimeError(done.stderr.decode(errors="replace")[-2000:])
    about: dict = {"memory": True} if done.returncode else json.loads(first)
    if about.get("memory"):
        raise TableError(
            f"{name} takes more than {MOST_MEMORY / 2**30:g} GiB of memory to read: "
            "it unpacks to far more than its size. Save the table itself as CSV or "
            "Parquet, or take a sample of its rows."
        )
    if "choices" in about:
        raise ChoiceError(about["error"], about["choices"])
    if "error" in about:
        raise TableError(about["error"])
    return about, rest


def serve(read: Callable[..., tuple[dict, bytes]]) -> None:
    """Answer ``run_guarded`` by a function that takes content and choices."""
    _limit_memory()
    rest = b""
    about: dict
    try:
        about, rest = read(sys.stdin.buffer.read(), **json.loads(sys.argv[1]))
    except ChoiceError as error:
        about = {"error": str(error), "choices": error.choices}
    except TableError as error:
        about = {"error": str(error)}
    except MemoryError:
        about = {"memory": True}
    sys.stdout.buffer.write(json.dumps(about).encode() + b"\n")
    sys.stdout.buffer.write(rest)


def _limit_memory() -> None:
    """Let this process have ``MOST_MEMORY``, where the system can say so."""
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
