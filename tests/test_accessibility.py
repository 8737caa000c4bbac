"""Every page for those who see, hear or move otherwise, in a real Chromium."""

import pytest

from tests import test_browser
from tests.pages.stores import add_run
from tests.pages.test_sweep import swept
from tests.runs.jobs.surrogates import add_surrogate
from tests.test_browser import opened, serious, settled
from treelab.runs.store.run_store import RunStore

address, page = test_browser.address, test_browser.page  # the app, a window on it

QUESTIONS = {
    "data": "What do you want to predict?",
    "train": "Train and watch",
    "tree": "What did it learn, and how small can it be?",
    "explain": "Why this prediction?",
    "compare": "Which tree is better, and where?",
    "runs": "What have I tried?",
}
OF_A_RUN = ("tree", "explain")
SHUT = (  # not on a tab that is not shown
    "[data-testid=stMain] [data-testid=stExpander] details:not([open]) > "
    "summary:not([inert] *)"
)
TABS = "[data-testid=stMain] [data-testid=stTab]"

# The controls of a page, also those within the viewer's shadow. One that belongs to a
# group (tabs, pills, the nodes of a tree, the steps of a number box) is reached with
# the group: arrow keys lead from one to the next.
CONTROLS = """() => {
  const kinds = 'a[href],button,input,select,textarea,summary,[tabindex]';
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


def visit(page, address: str, name: str, **params: str) -> None:
    """Open a page and all that is folded on it."""
    query = "&".join(f"{key}={value}" for key, value in params.items())
    page.goto(f"{address}/{name}?{query}")
    opened(page, QUESTIONS[name])
    page.wait_for_timeout(500)
    assert not page.get_by_role("dialog").count()  # such as "Page not found"
    unfold(page)


def unfold(page) -> None:
    """Open all expanders."""
    shut = page.locator(SHUT)
    while shut.count():
        shut.first.click()
        settled(page)


def look_at(page, address, mode: str, name: str, **params: str) -> list:
    """What axe calls serious on a page, tab by tab."""
    visit(page, address, name, **params)
    found = [(mode, name, params, problem) for problem in serious(page)]
    for tab in range(1, page.locator(TABS).count()):
        page.locator(TABS).nth(tab).click()
        settled(page)
        unfold(page)
        page.wait_for_timeout(1000)  # what is drawn anew no longer fades
        settled(page)
        found += [(mode, name, f"tab {tab}", problem) for problem in serious(page)]
    return found


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_axe_finds_no_serious_violation_on_any_page(page, address, mode):
    store = RunStore()
    runs = {
        learner: add_run(store, learner, sizes=learner == "cart")
        for learner in ("cart", "gradtree", "grande", "argmin")
    }
    numbers = {learner: add_run(store, learner, "weight") for learner in runs}
    opened(page, QUESTIONS["runs"])
    page.emulate_media(color_scheme=mode)
    found = look_at(page, address, mode, "data")
    found += look_at(page, address, mode, "train", run=runs["cart"])
    found += look_at(page, address, mode, "runs")
    found += look_at(page, address, mode, "train", tab="Tune", sweep=swept(store))
    found += look_at(page, address, mode, "tree", run=runs["cart"], edit="true")
    for learner in ("cart", "grande", "argmin"):
        for name in OF_A_RUN:
            found += look_at(page, address, mode, name, run=runs[learner])
    for name in OF_A_RUN:
        found += look_at(page, address, mode, name, run=numbers["cart"])
    found += look_at(page, address, mode, "tree", run=add_surrogate(store))
    assert found == []


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_axe_finds_no_serious_violation_on_compare(page, address, mode):
    store = RunStore()
    opened(page, QUESTIONS["runs"])
    page.emulate_media(color_scheme=mode)
    pairs = [
        [add_run(store, key, target) for key in ("cart", "gradtree")]
        for target in ("kind", "weight")
    ]
    swept(store)
    add_surrogate(store)  # on a table of the same name, which is the newest
    found = []
    for first, second in pairs:
        found += look_at(page, address, mode, "compare", run=second, against=first)
        assert second in page.url
    assert found == []


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["train", "tree", "compare", "explain"])
def test_a_keyboard_reaches_every_control(page, address, name):
    store = RunStore()
    first, second = (add_run(store, learner) for learner in ("cart", "gradtree"))
    opened(page, QUESTIONS["runs"])
    params = {"run": first}
    if name == "compare":
        params = {"first": first, "second": second}
    visit(page, address, name, **params)
    controls = page.evaluate(CONTROLS)
    page.get_by_role("heading", name=QUESTIONS[name]).click()
    reached = set()
    for _ in range(2 * len(controls)):
        page.keyboard.press("Tab")
        if (number := page.evaluate(FOCUSED)) is not None:
            reached.add(int(number))
    groups = {controls[number]["group"] for number in reached} - {None}
    missed = [
        each["html"]
        for number, each in enumerate(controls)
        if number not in reached and each["group"] not in groups
    ]
    assert missed == []
    assert reached


@pytest.mark.browser
@pytest.mark.slow
def test_arrow_keys_lead_through_a_group(page, address):
    """Pills, tabs and the nodes of a tree are one stop each; arrows go on."""
    store = RunStore()
    first, second = (add_run(store, learner) for learner in ("cart", "gradtree"))
    opened(page, QUESTIONS["runs"])
    visit(page, address, "compare", first=first, second=second)
    for role in ("treeitem", "tab"):
        start = page.locator(f"[data-testid=stMain] [role={role}][tabindex='0']").first
        start.focus()
        before = page.evaluate(FOCUSED_NAME)
        page.keyboard.press("ArrowDown" if role == "treeitem" else "ArrowRight")
        page.wait_for_timeout(300)
        assert page.evaluate(FOCUSED_NAME) != before, role
    visit(page, address, "train", run=first)
    start = page.locator(".st-key-learners button").first
    start.focus()
    before = page.evaluate(FOCUSED_NAME)
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(300)
    assert page.evaluate(FOCUSED_NAME) != before
