"""What ``pip install .`` brings: the library, the command line, the dashboard."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.served_app import FLAGS, SLOW, chromium, free_port, served

sync_api = pytest.importorskip("playwright.sync_api")

ROOT = Path(__file__).parents[1]
DASHBOARD = ["app.py", "pages", "assets", ".streamlit"]
COMPILED = "__pycache__"
SOURCES = ["treelab", *DASHBOARD, "setup.py", "pyproject.toml", "requirements.txt"]
TABLE = "height,weight,kind\n" + "1,2,cat\n1,3,cat\n5,9,dog\n6,9,dog\n" * 20


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """Folder that a wheel, built from a copy of the sources, is installed into."""
    source, folder = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("lib")
    for name in [*SOURCES, "README.md", "LICENSE"]:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns(COMPILED)
            shutil.copytree(ROOT / name, source / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, source)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "-q"]
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--target", folder]
    subprocess.run([*pip, *options, source], check=True)
    return folder


def files_in(folder: Path, root: Path) -> set[Path]:
    """All files of a folder but what Python and numba compiled, from a root."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(root) for path in files if path.parent.name != COMPILED}


@pytest.mark.slow
def test_a_wheel_holds_the_library_and_the_dashboard(installed):
    library = files_in(ROOT / "treelab", ROOT)
    app = {ROOT / "app.py", ROOT / ".streamlit" / "config.toml"}
    app |= {*(ROOT / "pages").rglob("*.py"), *(ROOT / "assets").rglob("*")}
    dashboard = {
        Path("treelab/dashboard") / path.relative_to(ROOT)
        for path in app
        if path.is_file()
    }
    assert files_in(installed / "treelab", installed) == library | dashboard
    assert {path.name for path in installed.iterdir() if path.is_dir()} == {
        "bin",
        "treelab",
        *(path.name for path in installed.glob("treelab-*.dist-info")),
    }


@pytest.mark.slow
def test_an_installed_treelab_trains_and_writes_a_page(installed, tmp_path):
    (tmp_path / "pets.csv").write_text(TABLE, "utf-8")
    environment = {
        **os.environ,
        "PYTHONPATH": str(installed),
        "TREELAB_HOME": str(tmp_path / "home"),
    }

    def treelab(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "treelab", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    treelab("train", "pets.csv", "--target", "kind", "--learner", "cart")
    run = next((tmp_path / "home" / "runs").iterdir()).name
    treelab("export", run, "--format", "html", "-o", "tree.html")
    page = (tmp_path / "tree.html").read_text("utf-8")
    assert "const treelabViewer" in page


@pytest.mark.slow
def test_an_installed_treelab_opens_the_dashboard(installed, tmp_path, monkeypatch):
    path, port = chromium(), free_port()
    monkeypatch.setenv("PYTHONPATH", str(installed))
    monkeypatch.setenv("TREELAB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TREELAB_SLOTS", "0")
    opener = ["-m", "treelab", "app", "--port", str(port), "--"]
    with (
        served(tmp_path, port, opener=opener, cwd=tmp_path),
        sync_api.sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        page = browser.new_page()
        page.set_default_timeout(SLOW)
        page.goto(f"http://localhost:{port}")
        page.get_by_role("heading", name="What do you want to predict?").wait_for()
        browser.close()
