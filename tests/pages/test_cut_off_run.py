"""A run that was cut off after its model was saved has no model on any page."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import APP
from tests.pages.shown import page_text
from tests.pages.stores import add_run
from treelab.runs.store.states import TRAINER_ENDED

PAGES = ("data", "train", "tree", "explain", "compare", "runs")
OLD = ("edit", "predict", "profile", "pruning", "rashomon", "routing", "sweep")
OF_OTHERS = {"pruning": "argmin", "routing": "grande"}
TREES = ("tree", "explain", "compare")  # pages of one run's model


def add_cut_off(store, learner: str = "cart", **options) -> str:
    """Add a run whose worker was killed between its model and its row."""
    run_id = add_run(store, learner, state="running", **options)
    store.add_model(run_id, store.model(add_run(store, learner, **options)))
    assert store.finish(run_id, "interrupted", error=TRAINER_ENDED)
    return run_id


def opened(page: str, **params: str) -> AppTest:
    """A page with an address's parameters, opened through ``app.py``."""
    app = AppTest.from_file(str(APP), default_timeout=30)
    app.session_state["wanted_page"] = (f"pages/{page}.py", params)
    app.run()
    assert not app.exception, app.exception
    return app


@pytest.mark.parametrize(
    ("page", "learner"),
    [
        *((page, key) for page in PAGES for key in ("cart", "argmin", "grande")),
        *((page, OF_OTHERS.get(page, "cart")) for page in OLD),  # they lead on to PAGES
    ],
)
def test_every_page_opens_with_it(store, page, learner):
    run_id = add_cut_off(store, learner)
    opened(page, run=run_id)
    done = next(run.id for run in store.runs() if run.has_model)
    assert done != run_id
    opened(page, run=done, against=run_id, others=run_id)


@pytest.mark.parametrize("page", TREES)
def test_a_page_of_its_model_says_what_to_do(store, page):
    words = page_text(opened(page, run=add_cut_off(store, "grande")))
    assert "GRANDE is interrupted\\: it has no" in words
    assert "Resume it, or train it again." in words


def test_a_snapshot_of_it_is_shown_as_such(store):
    words = page_text(opened("tree", run=add_cut_off(store)))
    assert "No model was saved. Shown: epoch 7." in words
