"""The app shell: every page opens, from any address and on any store."""

import errno
import shutil
import subprocess
import sys

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import APP
from tests.pages.stores import add_run
from treelab.runs.store.run_store import RunStore

PAGES = ("compare", "data", "explain", "runs", "train", "tree")

LIGHT = """
import sys
from streamlit.testing.v1 import AppTest
app = AppTest.from_file("app.py", default_timeout=60).run()
for page in {pages}:
    app.switch_page(f"pages/{{page}}.py").run()
    assert not app.exception, app.exception
assert "torch" not in sys.modules, "the app loads torch"
"""


@pytest.mark.parametrize("page", PAGES)
def test_every_page_opens_on_an_empty_store(visit, page):
    app = visit(page)
    assert app.title
    if page not in ("data", "train"):
        assert app.info  # says what will be here


@pytest.mark.parametrize(
    "target",
    [
        "kind",
        pytest.param("ripe", marks=pytest.mark.slow),
        pytest.param("weight", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("page", PAGES)
def test_every_page_opens_on_a_filled_store(store, visit, page, target):
    for learner in ("cart", "grande", "argmin", "gradtree"):
        add_run(store, learner, target=target)
    add_run(store, "gradtree", target=target, state="running")
    assert visit(page).title


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(
    "run",
    [
        "../../secret",
        *(
            pytest.param(run, marks=pytest.mark.slow)
            for run in ("no-such-run", "", "<b>")
        ),
    ],
)
def test_an_address_with_a_wrong_run_is_no_trouble(store, visit, page, run):
    add_run(store, "cart")
    assert visit(page, run=run).title


@pytest.mark.slow
def test_the_first_page_waits_for_no_large_package():
    code = "import sys, pages.data.columns, pages.widgets.sidebar, pages.widgets.upload"
    code += "; print({'scipy', 'sklearn', 'torch'} & {*sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=APP.parent, capture_output=True, text=True
    )
    assert done.stdout == "set()\n", done.stderr[-2000:]


@pytest.mark.slow
def test_the_app_does_without_torch(store):
    add_run(store, "cart")
    code = LIGHT.format(pages=PAGES)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=APP.parent, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_page_opened_past_the_app_shell_comes_back_into_it(store):
    app = AppTest.from_file(str(APP), default_timeout=30)
    app.session_state["wanted_page"] = ("pages/runs.py", {"run": "x"})
    app.run()
    assert app.title[0].value == "What have I tried?"


@pytest.mark.parametrize(
    ("earlier", "title"),
    [
        ("edit", "What did it learn, and how small can it be?"),
        ("predict", "Why this prediction?"),
        ("profile", "What do you want to predict?"),
        ("pruning", "What did it learn, and how small can it be?"),
        ("rashomon", "What did it learn, and how small can it be?"),
        ("routing", "What did it learn, and how small can it be?"),
        ("sweep", "Train and watch"),
    ],
)
def test_an_earlier_address_leads_on(visit, earlier, title):
    assert visit(earlier).title[0].value == title


@pytest.mark.parametrize("trouble", ["is gone", "is damaged"])
def test_what_is_wrong_with_the_data_folder_is_said_in_words(store, visit, trouble):
    visit("data")
    if trouble == "is gone":
        shutil.rmtree(store.home)
    else:
        (store.home / "treelab.sqlite").write_bytes(b"no database " * 1000)
    app = AppTest.from_file(str(APP), default_timeout=30).run()
    assert not app.exception
    assert app.error
    assert all(trouble in error.value for error in app.error)
    assert {button.label for button in app.button} >= {"Try again"}


def full(*_, **__) -> None:
    """The disk when it is full."""
    raise OSError(errno.ENOSPC, "No space left on device", "the disk")


def test_a_click_that_cannot_be_stored_is_explained(store, visit, monkeypatch):
    run = add_run(store, "cart")
    app = visit("tree", edit="true", run=run)
    app.button(key=f"edit-prune-below-{run}").click().run()
    monkeypatch.setattr(RunStore, "create", full)
    app.button(key=f"edit-keep-{run}").click().run()
    assert not app.exception
    assert "No space left on device" in app.error[0].value
    assert app.session_state[f"edits-{run}"].current  # they are still there
    app = AppTest.from_file(str(APP), default_timeout=30).run()
    app.session_state["upload-open"] = True
    app.run()
    monkeypatch.setattr(RunStore, "add_table", full)
    app.file_uploader(key="upload").upload("a.csv", b"x,y\n1,a\n2,b\n").run()
    assert not app.exception
    assert "No space left on device" in app.error[0].value
    assert "Try again" not in [button.label for button in app.button]
    app.run()
    assert not app.error  # said once
