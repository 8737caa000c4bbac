"""The pictures of the book are those that its script takes from the app as it is."""

import re
import shutil
import subprocess
import sys

import pytest

from tests.docs.pages import DOCS, PAGES, ROOT

IMAGE = pytest.importorskip("PIL.Image")
TAKEN = re.compile(r"pictures/([\w-]+\.(?:png|gif))")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def named() -> set[str]:
    """The pictures that the pages show."""
    return {name for page in PAGES for name in TAKEN.findall(page.read_text("utf-8"))}


def test_every_picture_that_is_shown_is_there():
    there = {p.name for p in (DOCS / "pictures").iterdir() if p.suffix != ".svg"}
    assert there - {"take.py"} == named()


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.timeout(900)
@pytest.mark.skipif(not any(map(shutil.which, BROWSERS)), reason="no Chromium")
def test_the_script_takes_every_picture_that_is_shown(tmp_path, monkeypatch):
    monkeypatch.setenv("TREELAB_SLOTS", "1")
    script = [sys.executable, "docs/pictures/take.py", "--to", str(tmp_path)]
    script += ["--restarts", "50"]
    done = subprocess.run(script, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in tmp_path.iterdir()} == named()
    for name in named():
        with (
            IMAGE.open(tmp_path / name) as taken,
            IMAGE.open(DOCS / "pictures" / name) as shown,
        ):
            assert taken.size == shown.size
    with IMAGE.open(tmp_path / "training.gif") as moving:
        assert moving.n_frames > 3
