"""Two people sign in at a real provider, in a real Chromium."""

import os

import pytest

from tests.pages.stores import add_run
from tests.served_app import FLAGS, ROOT, SLOW, chromium, free_port, served
from tests.test_browser import settled
from treelab.runs.store.run_store import RunStore
from treelab.runs.users import audit_log

sync_api = pytest.importorskip("playwright.sync_api")
pytest.importorskip("authlib")

SECRETS = """[auth]
redirect_uri = "http://localhost:{port}/oauth2callback"
cookie_secret = "a secret that is long enough for a test"
client_id = "treelab"
client_secret = "known to both"
server_metadata_url = "{issuer}/.well-known/openid-configuration"
"""


@pytest.fixture
def address(tmp_path, monkeypatch):
    """The app with sign-in, over a store whose only run nobody owns."""
    from tests.oidc import provider

    monkeypatch.setenv("TREELAB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TREELAB_SLOTS", "0")
    add_run(RunStore(), "cart")
    secrets, port = tmp_path / "secrets.toml", free_port()
    with provider() as issuer:
        secrets.write_text(SECRETS.format(port=port, issuer=issuer))
        with served(tmp_path, port, f"--secrets.files={secrets}"):
            yield f"http://localhost:{port}"


def signed_in(browser, address: str, user: str):
    """A window of somebody who has signed in."""
    options = {"viewport": {"width": 1400, "height": 1000}, "reduced_motion": "reduce"}
    page = browser.new_context(**options).new_page()
    page.set_default_timeout(SLOW)
    page.goto(address)
    page.get_by_role("button", name="Sign in").wait_for()
    assert page.get_by_role("link", name="Compare").count() == 0
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name=user).click()
    page.get_by_text(user).first.wait_for()
    return page


# Streamlit's own, beside the page, is there while a script runs.
STOP = "[data-testid=stMain] button:has-text('Stop'):visible"


@pytest.mark.slow
@pytest.mark.browser
def test_what_one_trains_in_private_another_does_not_find(address):
    path = chromium()
    store = RunStore()
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        ann = signed_in(browser, address, "ann@x.org")
        ann.goto(f"{address}/train")
        ann.get_by_role("button", name="Train", exact=True).click()
        ann.get_by_text("queue").first.wait_for()
        mine = [run for run in store.runs() if run.user]
        assert {(run.user, run.is_private) for run in mine} == {("ann@x.org", True)}
        bob = signed_in(browser, address, "bob@x.org")
        bob.goto(f"{address}/runs?run={mine[0].id}")
        bob.get_by_text("1 run.").wait_for()
        bob.goto(f"{address}/train?run={mine[0].id}")
        bob.get_by_role("button", name="Train", exact=True).wait_for()
        settled(bob)
        assert bob.locator(STOP).count() == 0
        ann.locator(STOP).first.click()
        for _ in range(SLOW // 100):
            if audit_log(store):
                break
            ann.wait_for_timeout(100)
        assert audit_log(store)[0]["user"] == "ann@x.org"
        shots = ROOT / "test-artifacts" / "browser"
        os.makedirs(shots, exist_ok=True)
        ann.screenshot(path=shots / "users-ann.png")
        bob.screenshot(path=shots / "users-bob.png")
        browser.close()
