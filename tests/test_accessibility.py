"""Every page for those who see, hear or move otherwise, in a real Chromium."""

import re

import pytest

from tests import test_browser
from tests.pages.stores import add_run
from tests.pages.test_sweep import swept
from tests.runs.jobs.surrogates import add_surrogate
from tests.served_app import free_port, served
from tests.test_browser import (
    STILL,
    node,
    nodes,
    opened,
    serious,
    set_mode,
    settled,
    sync_api,
    window,
)
from treelab.runs.store.run_store import RunStore

browser = test_browser.browser

QUESTIONS = {
    "data": "What do you want to predict?",
    "train": "Train and watch",
    "tree": "What did it learn, and how small can it be?",
    "explain": "Why this prediction?",
    "compare": "Which tree is better, and where?",
    "runs": "What have I tried?",
}
LEARNERS = ("cart", "gradtree", "grande", "argmin")
MODES = ("light", "dark")
MAIN = "[data-testid=stMain]"
SHUT = (  # not on a tab that is not shown
    "[data-testid=stMain] [data-testid=stExpander] details:not([open]) > "
    "summary:not([inert] *)"
)
TABS = "[data-testid=stMain] [data-testid=stTab]"

# The controls of a page, also those within the viewer's shadow. One that belongs to a
# group (tabs, pills, the nodes of a tree, the steps of a number box) is reached with
# the group: arrow keys lead from one to the next. The panel of a tab is no control; it
# is a stop while nothing in it is, so for a moment after the page was drawn.
CONTROLS = """() => {
  const kinds = 'a[href],button,input,select,textarea,summary,' +
    '[tabindex]:not([role=tabpanel])';
  const groups = '[role=radiogroup],[role=toolbar],[role=tablist],[role=tree],' +
    '[data-testid=stButtonGroup],[data-testid=stNumberInput],' +
    '[data-testid=stSelectbox],[data-testid=stMultiSelect],[data-testid=stFileUploader]';
  const found = [], known = [];
  const walk = root => {
    for (const each of root.querySelectorAll('*')) {
      if (each.matches(kinds)) found.push(each);
      if (each.shadowRoot) walk(each.shadowRoot);
    }
  };
  walk(document.querySelector('[data-testid=stMain]'));
  const shown = found.filter(each => {
    const box = each.getBoundingClientRect();
    const visible = each.checkVisibility({ visibilityProperty: true });
    const there = visible && !each.closest('[inert]') && box.width && box.height;
    return !each.disabled && there;
  });
  return shown.map((each, number) => {
    each.dataset.control = number;
    const group = each.closest(groups);
    if (group && !known.includes(group)) known.push(group);
    const html = each.outerHTML.slice(0, 200);
    return { group: group ? known.indexOf(group) : null, html };
  });
}"""
IS_DARK = "() => matchMedia('(prefers-color-scheme: dark)').matches"
FOCUSED = """() => {
  let each = document.activeElement;
  while (each?.shadowRoot?.activeElement) each = each.shadowRoot.activeElement;
  return each?.dataset?.control ?? null;
}"""
FOCUSED_NAME = """() => {
  let each = document.activeElement;
  while (each?.shadowRoot?.activeElement) each = each.shadowRoot.activeElement;
  return (each.getAttribute('aria-label') || each.innerText || '') + each.tagName;
}"""
IS_ELSEWHERE = f"before => ({FOCUSED_NAME})() !== before"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The store that all tests look at, and its runs by learner and target."""
    home = tmp_path_factory.mktemp("accessible") / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREELAB_HOME", str(home))
        patch.setenv("TREELAB_SLOTS", "0")
        store = RunStore()
        added = {
            (learner, target): add_run(store, learner, target, sizes=learner == "cart")
            for target in ("kind", "weight")
            for learner in LEARNERS
        }
        added["sweep"] = swept(store)
        # On a table of the same name, which is the newest.
        added["surrogate"] = add_surrogate(store)
        yield added


@pytest.fixture(scope="module")
def address(runs, tmp_path_factory):
    """The app, served over the store."""
    port = free_port()
    with served(tmp_path_factory.mktemp("server"), port, "--server.address=127.0.0.1"):
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def page(browser, address):
    """A browser window."""
    with window(browser) as page:
        yield page


def visit(page, address: str, name: str, **params: str) -> None:
    """Open a page and all that is folded on it."""
    query = "&".join(f"{key}={value}" for key, value in params.items())
    page.goto(f"{address}/{name}?{query}")
    opened(page, QUESTIONS[name])
    assert not page.get_by_role("dialog").count()  # such as "Page not found"
    if name == "tree":
        nodes(page)
    unfold(page)


def unfold(page) -> None:
    """Open all expanders, also those that lie in others."""
    while page.locator(SHUT).count():
        page.locator(SHUT).evaluate_all("shut => shut.forEach(each => each.click())")
        settled(page)


def look_at(page, address, name: str, tabs: tuple[str, ...] = (), **params) -> list:
    """What axe calls serious on a page, tab by tab, in each color scheme.

    On all tabs, or on those named: others show what they show of another run.
    """
    visit(page, address, name, **params)
    there = page.locator(TABS).all_inner_texts()
    if not there:
        return look(page, name, params)
    found = []
    within = ""
    for tab in tabs or there:
        one = page.locator(TABS).nth(there.index(tab))
        if one.get_attribute("aria-selected") != "true":
            one.click()
            settled(page)
            unfold(page)
        found += look(page, name, params, tab, within=within)
        within = MAIN  # what lies around the tabs was looked at with the first
    return found


def look(page, *place, within: str = "") -> list:
    """What axe calls serious, and of the other color scheme's colors."""
    shown = "dark" if page.evaluate(IS_DARK) else "light"
    found = []
    for mode in sorted(MODES, key=lambda mode: mode != shown):
        if mode != shown:
            set_mode(page, mode)
        page.wait_for_function(STILL)  # what is drawn anew no longer fades
        rules = () if mode == shown else ("color-contrast", "link-in-text-block")
        problems = serious(page, *rules, within=within)
        if problems:  # not of what is about to be drawn anew, and is pale meanwhile
            settled(page, 1000)
            page.wait_for_function(STILL)
            problems = serious(page, *rules, within=within)
        found += [(mode, *place, problem) for problem in problems]
    return found


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_axe_finds_no_serious_violation_on_any_page(page, address, runs):
    cart = runs["cart", "kind"]
    found = look_at(page, address, "data")
    found += look_at(page, address, "train", ("Train",), run=cart)
    found += look_at(page, address, "runs")
    found += look_at(page, address, "train", ("Tune",), tab="Tune", sweep=runs["sweep"])
    # A tree that is edited is looked at in tests/pages/test_tree_edit_walk.py.
    for run, of_tree, of_row in (
        (cart, (), ()),
        (runs["grande", "kind"], ("Rules",), ("Why",)),
        (runs["argmin", "kind"], ("Rules", "Alternatives"), ("Why",)),
        (runs["cart", "weight"], ("Rules", "Scores"), ("What if",)),
    ):
        found += look_at(page, address, "tree", of_tree, run=run)
        found += look_at(page, address, "explain", of_row, run=run)
    found += look_at(page, address, "tree", ("Rules", "Routes"), run=runs["surrogate"])
    assert found == []


@pytest.mark.browser
@pytest.mark.slow
def test_axe_finds_no_serious_violation_beside_a_selected_node(page, address, runs):
    page.goto(f"{address}/tree?run={runs['cart', 'weight']}")
    opened(page, QUESTIONS["tree"])
    nodes(page)
    node(page, "0").locator(".main").first.click()
    sync_api.expect(page.locator(".node-facts")).to_be_visible()
    page.get_by_text("Filter", exact=True).click()
    page.get_by_role("button", name="Follow rows").click()
    assert look(page, "a node is selected") == []


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("target", "tabs"), [("kind", ()), ("weight", ("Why", "Surfaces", "Errors"))]
)
def test_axe_finds_no_serious_violation_on_compare(page, address, runs, target, tabs):
    first, second = runs["cart", target], runs["gradtree", target]
    assert look_at(page, address, "compare", tabs, run=second, against=first) == []
    sync_api.expect(page).to_have_url(re.compile(second))


def missed(page, name: str) -> list[str]:
    """Number the controls of a page; return those that Tab does not reach."""
    controls = page.evaluate(CONTROLS)
    assert controls
    stops = [
        f"control {number}" if each["group"] is None else each["group"]
        for number, each in enumerate(controls)
    ]
    left = set(stops)
    page.get_by_role("heading", name=QUESTIONS[name]).click()
    for _ in range(4 * len(controls)):
        if not left:
            break
        page.keyboard.press("Tab")
        if (number := page.evaluate(FOCUSED)) is not None:
            left.discard(stops[int(number)])
    return [each["html"] for stop, each in zip(stops, controls) if stop in left]


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["train", "tree", "compare", "explain"])
def test_a_keyboard_reaches_every_control(page, address, runs, name):
    first, second = runs["cart", "kind"], runs["gradtree", "kind"]
    params = {"run": first}
    if name == "compare":
        params = {"first": first, "second": second}
    visit(page, address, name, **params)
    for _ in range(3):  # a look at its runs may draw the page anew meanwhile
        if not missed(page, name):
            return
        settled(page)
    assert missed(page, name) == []


@pytest.mark.browser
@pytest.mark.slow
def test_arrow_keys_lead_through_a_group(page, address, runs):
    """Pills, tabs and the nodes of a tree are one stop each; arrows go on."""
    first, second = runs["cart", "kind"], runs["gradtree", "kind"]
    visit(page, address, "compare", first=first, second=second)
    for role in ("treeitem", "tab"):
        start = page.locator(f"[data-testid=stMain] [role={role}][tabindex='0']").first
        start.focus()
        before = page.evaluate(FOCUSED_NAME)
        page.keyboard.press("ArrowDown" if role == "treeitem" else "ArrowRight")
        page.wait_for_function(IS_ELSEWHERE, arg=before)
    visit(page, address, "train", run=first)
    start = page.locator(".st-key-learners button").first
    start.focus()
    before = page.evaluate(FOCUSED_NAME)
    page.keyboard.press("ArrowRight")
    page.wait_for_function(IS_ELSEWHERE, arg=before)
