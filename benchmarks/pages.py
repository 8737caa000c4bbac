"""Server time of each page on a table of the size of adult."""

import os
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from benchmarks.tables import read_manifest
from treelab.bench import machine
from treelab.data.problem import make_problem
from treelab.learners.registry import LEARNERS
from treelab.runs.jobs.run_one import run_one
from treelab.runs.store.run_store import RunStore

# A synthetic table of the size of the adult census: rows, columns, levels, gaps.


N_ROWS = 32_561
LEVELS = (9, 16, 7, 15, 6, 5, 2, 42)  # of the categories
TARGET = "income"


def census_like(n_rows: int = N_ROWS, *, seed: int = 0) -> pd.DataFrame:
    """Return six columns of numbers, eight of categories, and a target of two classes.

    A quarter of the rows is of the rarer class, as in the adult census; three columns
    of categories have gaps.
    """
    rng = np.random.default_rng(seed)
    columns: dict[str, np.ndarray] = {}
    score = np.zeros(n_rows)
    for k in range(6):
        values = rng.gamma(2 + k, 10, n_rows).round(k % 3)
        columns[f"number {k + 1}"] = values
        score += rng.normal() * (values > np.median(values))
    for k, n_levels in enumerate(LEVELS):
        code = np.minimum(rng.geometric(3 / (n_levels + 2), n_rows) - 1, n_levels - 1)
        names = np.array([f"level {k + 1}.{i + 1}" for i in range(n_levels)], object)
        columns[f"category {k + 1}"] = names[code]
        score += rng.normal(size=n_levels)[code] / 2
        if k in (0, 5, 7):
            columns[f"category {k + 1}"][rng.random(n_rows) < 0.05] = None
    score += columns["number 1"] * columns["number 2"] / 400 + rng.normal(size=n_rows)
    high = score > np.quantile(score, 0.76)
    return pd.DataFrame(columns).assign(**{TARGET: np.where(high, ">50K", "<=50K")})


# Processor time of the server for each page: cold, warm, and after a change.


APP = Path(__file__).parents[1] / "app.py"
COLD, WARM = 2.0, 0.3  # seconds that a page should stay below
N_WARM = 3  # reruns, the median of which counts
TIMEOUT = 600  # seconds
SETTINGS: dict[str, dict[str, Any]] = {  # reduced, so that training takes a minute
    "cart": {},
    "gradtree": {"n_steps": 50},
    "grande": {"n_estimators": 64, "max_epochs": 10},
}
# Pages, each with what its address has besides the run.
OF_A_RUN: tuple[tuple[str, dict[str, str]], ...] = (
    ("tree", {}),
    ("tree", {"tab": "Routes"}),
    ("tree", {"tab": "Scores"}),
    ("explain", {}),
)
OF_A_TREE: tuple[tuple[str, dict[str, str]], ...] = (
    ("tree", {"tab": "Alternatives"}),
    ("tree", {"edit": "true"}),
)


def run_ui(data: Path | None = None, home: Path | None = None) -> pd.DataFrame:
    """Measure every page, print a table, slowest first, and return it.

    Parameters
    ----------
    data : Path or None, default=None
        Folder of benchmark tables whose adult is used; None: a synthetic table.
    home : Path or None, default=None
        Folder of the run store, whose runs are used again; None: a temporary one.

    Returns
    -------
    DataFrame
        A row a page and run: ``page``, ``run``; seconds ``cold`` (nothing cached),
        ``warm`` (the same again) and ``changed`` (another row, step or class, the
        slowest edit; NaN where the page has no such control).

    Raises
    ------
    FileNotFoundError
        Where the app is not beside the library, as in an installed wheel.
    """
    if not APP.exists():
        raise FileNotFoundError(f"There is no {APP}; run this in a checkout.")
    with tempfile.TemporaryDirectory() as folder:
        place = {"TREELAB_HOME": str(home or folder), "TREELAB_SLOTS": "0"}
        with patch.dict(os.environ, place):  # nothing trains beside the measurement
            store = RunStore()
            runs = _trained(store, data)
            problem = store.run(runs["cart"]).problem
            n_rows = len(store.table(problem.table_id))
            rows = _measure_all(runs, problem.table_id)
    table = pd.DataFrame(rows)
    slowest = table[["cold", "warm", "changed"]].div([COLD, WARM, WARM]).max(axis=1)
    table = table.iloc[slowest.argsort()[::-1]].reset_index(drop=True)
    _print(table, f"{problem.table_name}, {n_rows:,} rows")
    return table


def _measure_all(runs: dict[str, str], table_id: str) -> list[dict[str, Any]]:
    """Measure every page, those of one run for each run."""
    rows = [
        measured("data", "", {"table": table_id}),
        measured("data", "columns", {"table": table_id, "tab": "Columns"}),
        measured("train", "", {"run": runs["cart"]}),
        measured("runs", "", {}),
        measured("train", "tune", {"run": runs["gradtree"], "tab": "Tune"}),
    ]
    for learner, run in runs.items():
        pages = OF_A_RUN if learner == "grande" else (*OF_A_RUN, *OF_A_TREE)
        rows += [
            measured(page, " ".join((learner, *more.values())), {"run": run} | more)
            for page, more in pages
        ]
    for learner in ("gradtree", "grande"):
        pair = {"against": runs["cart"], "run": runs[learner]}
        rows.append(measured("compare", f"cart, {learner}", pair))
    return rows


def _trained(store: RunStore, data: Path | None) -> dict[str, str]:
    """Return a finished run of each learner on the large table, by learner."""
    if data is None:
        frame, name, target = census_like(), "census-like", TARGET
    else:
        (adult,) = (own for own in read_manifest(data) if own.name == "adult")
        X, y = adult.load()
        name, target = adult.name, adult.target
        frame = X.assign(**{target: y})
    problem = make_problem(
        frame, target, table_id=store.add_table(frame, name), table_name=name
    )
    known = {r.learner: r.id for r in store.runs() if r.problem == problem}
    for learner, settings in SETTINGS.items():
        if learner not in known:
            began = time.perf_counter()
            known[learner] = store.create(learner, settings, problem, device="cpu")
            state = run_one(known[learner], store.home)
            if state != "done":
                raise ValueError(store.run(known[learner]).error)
            seconds = time.perf_counter() - began
            print(f"Trained {LEARNERS[learner].title} in {seconds:.0f} s.")
    return {learner: known[learner] for learner in SETTINGS}


def measured(
    page: str, name: str, address: dict[str, str], *, keeps_caches: bool = False
) -> dict[str, Any]:
    """Measure one page in a session of its own.

    Parameters
    ----------
    page : str
        Its file's name.
    name : str
        What the page is measured on, for the row.
    address : dict
        Its parameters in the address.
    keeps_caches : bool, default=False
        Whether it finds what sessions before it cached.

    Returns
    -------
    dict
        ``page``, ``run``; ``cold``, ``warm`` and ``changed``, processor seconds.

    Raises
    ------
    ValueError
        If the page shows an exception.
    """
    # By name: the library itself knows no Streamlit, only this measurement does.
    streamlit = import_module("streamlit")
    testing = import_module("streamlit.testing.v1")
    app = testing.AppTest.from_file(str(APP), default_timeout=TIMEOUT)
    app.query_params.update(address)  # before: the first run settles the table
    app.run()
    app.switch_page(f"pages/{page}.py")
    app.query_params.update(address)
    if "tab" in address:  # the first page's tabs had the same key
        app.run()
        app.session_state["tab"] = address["tab"]
    if not keeps_caches:
        streamlit.cache_data.clear()
        streamlit.cache_resource.clear()
    cold = _timed(app.run)
    _check(app, page)
    warm = sorted(_timed(app.run) for _ in range(N_WARM))[N_WARM // 2]
    change = _change(app, page)
    changed = float("nan") if change is None else _timed(change)
    if "edit" in address:
        changed = max(_timed(app.button(key=key).click().run) for key in _edits(app))
    _check(app, page)
    times = {"cold": cold, "warm": warm, "changed": changed}
    return {"page": page, "run": name, **times}


def _timed(call: Callable) -> float:
    """Return the processor seconds that a call takes, whatever else runs here."""
    began = time.process_time()
    call()
    return time.process_time() - began


def _check(app, page: str) -> None:
    """Raise ValueError where a page failed: it would be fast."""
    if app.exception:
        raise ValueError(f"The page {page} failed: {app.exception[0].value}")


def _edits(app) -> Iterator[str]:
    """Name the buttons of edits that choose splits, prune and lock, one by one."""
    for edit in ("prefer-everywhere", "forbid-everywhere", "lock", "prune-below"):
        for button in app.button:
            if button.key and button.key.startswith(f"edit-{edit}-"):
                yield button.key
                _check(app, "edit")
                break


def _change(app, page: str) -> Callable | None:
    """Return what a visitor does on a page that makes it compute anew."""
    rows = {"explain": "row", "compare": "compare-row"}
    for number in app.number_input:
        if number.key == rows.get(page):
            return number.set_value(12).run
    if page == "tree" and "rashomon-tolerance" in app.session_state:
        return app.slider(key="rashomon-tolerance").set_value(0.02).run
    sizes = [key for key in app.session_state if str(key).startswith("size-")]
    if page == "tree" and len(sizes) > 1:  # where the slider of the run stands
        app.session_state[max(sizes, key=len)] = 1
        return app.run
    return None


def _print(table: pd.DataFrame, measured_on: str) -> None:
    """Print the times, slowest first, and what is over its limit."""
    reduced = "; ".join(
        f"{LEARNERS[key].title} with {', '.join(f'{k}={v}' for k, v in given.items())}"
        for key, given in SETTINGS.items()
        if given
    )
    print(f"\nProcessor seconds a page, {measured_on}, {machine()}")
    print(f"Runs: CART; {reduced}.\n")
    shown = table.round(2).astype({"page": str})
    print(shown.to_string(index=False, na_rep=""))
    over = (table["cold"] > COLD) | (table[["warm", "changed"]].max(axis=1) > WARM)
    print(
        f"\n{over.sum()} of {len(table)} are over {COLD:g} s cold or {WARM:g} s warm. "
        "Whole pages are run again; in a browser a fragment alone often is."
    )


def run(chosen: Namespace) -> int:
    """Measure the pages and print."""
    run_ui(chosen.data, chosen.home)
    return 0
