"""The app where people sign in: each sees and changes what is theirs."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import APP
from tests.pages.stores import add_run
from treelab.runs.users import VARIABLE, Visitor, VisitorStore

ANN = {"is_logged_in": True, "email": "Ann@x.org", "email_verified": True}
BOB = {"is_logged_in": True, "email": "bob@x.org"}


def opened(user: dict, page: str, **params: str) -> AppTest:
    """A page as a user opens it."""
    app = AppTest.from_file(str(APP), default_timeout=30)
    app.user = user
    app.run()
    app.switch_page(f"pages/{page}.py")
    app.query_params.update(params)
    app.run()
    assert not app.exception, app.exception
    return app


def texts(app: AppTest) -> str:
    """All that a page says."""
    parts = [*app.markdown, *app.caption, *app.title, *app.info, *app.error]
    tables = [frame.value.to_string() for frame in app.dataframe]
    return "\n".join([*(str(part.value) for part in parts), *tables, str(app.main)])


@pytest.fixture
def private_run(store):
    """A finished run of Ann's that others do not see."""
    ann = VisitorStore(store.home, Visitor("ann@x.org"))
    run_id = add_run(ann, "cart")
    ann.set_title(run_id, "Ann's secret")
    return run_id


def test_who_has_not_signed_in_sees_nothing(store, private_run):
    app = AppTest.from_file(str(APP), default_timeout=30)
    app.user = {"is_logged_in": False}
    app.secrets = {"auth": {"client_id": "treelab"}}
    app.query_params["run"] = private_run
    app.run()
    assert [button.label for button in app.button] == ["Sign in"]
    assert "secret" not in texts(app)
    app.user = ANN | {"email_verified": False}
    app.run()
    assert "has verified" in app.error[0].value
    assert [button.label for button in app.button] == ["Sign out"]


@pytest.mark.slow
def test_a_private_run_is_hidden_from_others_by_page_and_by_address(store, private_run):
    own = opened(ANN, "runs")
    assert "Ann's secret" in texts(own)
    assert "ann@x.org, private" in texts(own)
    for page in ("runs", "tree", "train"):
        other = opened(BOB, page, run=private_run)
        assert "secret" not in texts(other)
        assert private_run not in texts(other)


def test_another_may_look_at_a_shared_run_but_not_change_it(store, private_run):
    VisitorStore(store.home, Visitor("ann@x.org")).set_private(private_run, False)
    app = opened(BOB, "tree", run=private_run)
    assert "Ann's secret" in texts(app)
    with pytest.raises(PermissionError, match=r"Only ann@x\.org or an admin"):
        VisitorStore(store.home, Visitor("bob@x.org")).delete(private_run)


@pytest.mark.slow
def test_a_quota_is_shown_and_beyond_it_nothing_is_stored(
    store, private_run, monkeypatch
):
    monkeypatch.setenv(VARIABLE, "1")
    assert "of 1.0 GB" in texts(opened(ANN, "runs"))
    monkeypatch.setenv(VARIABLE, "2")  # and never as it was a while ago
    assert "of 2.0 GB" in texts(opened(ANN, "runs"))
    monkeypatch.setenv(VARIABLE, "0.000001")
    app = AppTest.from_file(str(APP), default_timeout=30)
    app.user = ANN
    app.run()
    app.session_state["upload-open"] = True
    table = b"x,y\n1,a\n2,b\n3,a\n4,b\n"
    app.file_uploader(key="upload").upload("more.csv", table, "text/csv").run()
    assert not app.exception
    assert "Delete what is no longer needed" in app.error[0].value
    assert [run.id for run in store.runs()] == [private_run]
