"""A PostgreSQL server of Debian's package, started for the tests alone."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

QUICK = "-F -c listen_addresses='' -c shared_buffers=16MB -c full_page_writes=off"


def _programs() -> Path | None:
    """Folder of PostgreSQL's programs, which Debian keeps off the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    if found:
        return found[-1].parent
    return Path(on_path).resolve().parent if on_path else None


@contextmanager
def started() -> Iterator[str]:
    """Start a server that listens on a socket in a folder; yield its address.

    A server refuses to be started by root; it then runs as Debian's ``postgres``.
    """
    pytest.importorskip("psycopg")
    programs = _programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed.")
    user = "postgres" if hasattr(os, "getuid") and os.getuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="pg") as name:
        folder = Path(name)
        if user is not None:
            shutil.chown(folder, user)
        data = str(folder / "data")

        def run(program: str, *arguments: str) -> None:
            subprocess.run(
                [programs / program, "-D", data, *arguments],
                check=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                user=user,
            )

        run("initdb", "-U", "treelab", "-A", "trust", "-N", "-E", "UTF8")
        run("pg_ctl", "start", "-w", "-o", f"{QUICK} -c unix_socket_directories={name}")
        try:
            yield f"postgresql://treelab@/postgres?host={name}"
        finally:
            run("pg_ctl", "stop", "-m", "immediate")
