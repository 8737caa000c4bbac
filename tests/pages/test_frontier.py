"""A point of Compare's frontier chooses a run; repeats on more splits give it bands."""

import pytest

from pages.cached.predictions import heaviest_scores
from pages.cached.runs import load_run
from pages.compare import frontier
from tests.pages.shown import figures, page_text
from tests.pages.stores import add_run
from tests.pages.test_compare import open_part
from treelab.runs.store.run import Run


@pytest.fixture
def click(visit, monkeypatch):
    """Open Compare and click a point there: the number of its line, and its row."""
    points: list[dict] = []
    draw = frontier.show_figure

    def show_figure(figure, key, on_select="ignore", **options):
        draw(figure, key, **options)
        if key.startswith("frontier-of") and points:
            clicked[:] = [points.pop()]
            on_select()

    clicked: list[dict] = []
    monkeypatch.setattr(frontier, "show_figure", show_figure)
    monkeypatch.setattr(frontier, "clicked_points", lambda chart: clicked)

    def open_and_click(pair, number, place):
        points[:] = [{"customdata": [number, place]}]
        return visit("compare", against=pair[0], run=pair[1])

    return open_and_click


def field(app, kind, name):
    """The field below the chart whose key ends in a name."""
    found = [own for own in getattr(app, kind) if f"{own.key}".endswith(name)]
    return next(own for own in found if own.key.startswith("frontier"))


def test_a_clicked_size_is_saved_once_and_all_pages_show_it(store, click):
    pair = [add_run(store, learner, sizes=True) for learner in ("cart", "gradtree")]
    app = click(pair, 1, 0)
    assert len(store.runs()) == 3
    saved = store.runs()[0]
    assert saved.summary["pruned_from"] == pair[1]
    assert app.selectbox(key="against").value == pair[0]
    for page in ("tree", "explain", "compare"):
        app.switch_page(f"pages/{page}.py").run()
        assert app.selectbox(key="bar-run").value == saved.id
        assert not app.exception
    # The size that was saved is no line of its own, and is not saved again.
    app = click(pair, 1, 0)
    assert len(store.runs()) == 3
    assert app.session_state["run"] == saved.id


@pytest.mark.slow
def test_fields_reach_the_same_trees_as_a_click_and_change_nothing_until_asked(
    store, visit
):
    pair = [add_run(store, learner, sizes=True) for learner in ("cart", "gradtree")]
    app = visit("compare", against=pair[0], run=pair[1])
    app.session_state["frontier-pick"] = True
    app.run()
    field(app, "selectbox", "-run").set_value(pair[1]).run()
    sizes = field(app, "select_slider", pair[1])
    assert sizes.value == len(store.path(pair[1])) - 2  # what the run retained
    sizes.set_value(0).run()
    assert "**GradTree, 3 leaves: " in page_text(app).replace("\\", "")
    assert len(store.runs()) == 2
    field(app, "button", "-use").click().run()
    saved = store.runs()[0]
    assert saved.summary["pruned_from"] == pair[1]
    assert app.selectbox(key="bar-run").value == saved.id


@pytest.mark.slow
def test_the_runs_own_tree_and_an_ensemble_are_chosen_as_they_are(store, click):
    pair = [add_run(store, "cart", sizes=True), add_run(store, "grande")]
    own = len(store.path(pair[0])) - 2  # its place on the line, which has no stump
    app = click(pair, 0, own)
    assert app.selectbox(key="bar-run").value == pair[0]
    assert app.selectbox(key="against").value == pair[1]
    assert click(pair[::-1], 0, -1).selectbox(key="bar-run").value == pair[1]
    assert len(store.runs()) == 2


@pytest.mark.slow
def test_repeats_are_queued_for_the_runs_shown_and_can_be_stopped(store, visit):
    pair = [add_run(store, learner) for learner in ("cart", "gradtree")]
    app = open_part(visit("compare", against=pair[0], run=pair[1]), "Repeats")
    assert "Based on one data split" in page_text(app)
    app.number_input(key="repeats-more").set_value(2)
    app.button(key="repeats-start").click().run()
    repeats = [run for run in store.runs() if run.repeat_of]
    assert [(run.learner, run.problem.seed) for run in repeats[::-1]] == [
        ("cart", 1),
        ("gradtree", 1),
        ("cart", 2),
        ("gradtree", 2),
    ]
    assert "0 of 4 repeats trained" in page_text(app)
    app.button(key="repeats-stop").click().run()
    assert all(store.run(run.id).state == "stopped" for run in repeats)
    assert "4 repeats failed" in page_text(app)


@pytest.mark.slow
def test_rows_split_by_time_have_no_other_test_rows(store, visit):
    later = {"split_by": "time", "split_column": "radius"}
    pair = [add_run(store, each, split=later) for each in ("cart", "gradtree")]
    app = open_part(visit("compare", against=pair[0], run=pair[1]), "Repeats")
    assert "Split by radius, the test rows are always the same" in page_text(app)
    assert not [own for own in app.button if own.key == "repeats-start"]


@pytest.mark.slow
def test_done_repeats_draw_bands_and_feed_the_test_over_seeds(store, visit):
    pair = [add_run(store, learner, sizes=True) for learner in ("cart", "gradtree")]
    for run, learner in zip(pair, ("cart", "gradtree")):
        for seed in (1, 2):
            title = f"Repeat of {learner}, seed {seed}"
            options = {"seed": seed, "title": title, "repeat_of": run}
            add_run(store, learner, sizes=True, **options)
    app = open_part(visit("compare", against=pair[0], run=pair[1]), "Repeats")
    assert "Trained on 3 data splits each" in page_text(app)
    assert "mean of 3 data splits" in page_text(app)
    (drawn,) = (
        own for own in figures(app) if own["layout"]["xaxis"].get("type") == "log"
    )
    dashed = [t for t in drawn["data"] if t.get("line", {}).get("dash") == "dash"]
    assert len(dashed) == 2
    assert "same on all 3 data splits" in page_text(app)
    # They are below the others where a run is picked, and folded on Runs.
    offered = app.selectbox(key="bar-run").options
    assert ["Repeat" in option for option in offered] == [False] * 2 + [True] * 4
    table = visit("runs").dataframe[0].value
    assert len(table) == 2
    assert table["splits"].str.contains("± .*\\(3\\)").all()


def stars(app) -> list[dict]:
    """The points of ensembles' heaviest trees on Compare's frontier."""
    traces = [own for figure in figures(app) for own in figure["data"]]
    return [own for own in traces if own.get("marker", {}).get("symbol") == "star"]


def test_few_trees_of_an_ensemble_are_points_beside_its_line(visit, store):
    add_run(store, "cart")
    loaded = load_run(store.run(add_run(store, "grande")))
    app = visit("compare")
    (points,) = stars(app)
    counts, scores = heaviest_scores(loaded)
    few = [count for count in counts if count <= 10]
    assert [own[2] for own in points["customdata"]] == few
    assert points["y"] == pytest.approx(scores["test"][: len(few)].tolist())
    app.toggle(key="frontier-few").set_value(False).run()
    assert not stars(app)


@pytest.mark.slow
def test_beside_a_run_of_costs_sizes_are_scored_on_test_rows_alone(
    store, visit, monkeypatch
):
    title = property(lambda run: "saved" if run.constraints.class_costs else "F1")
    monkeypatch.setattr(Run, "held_out_title", title)
    asked = {"constraints": {"class_costs": {"small": {"fine": 5}}}}
    pair = [add_run(store, "cart", sizes=True) for _ in range(2)]
    offered = []
    for other in (pair[1], add_run(store, "cart", sizes=True, settings=asked)):
        app = visit("compare", against=pair[0], run=other)
        keyed = [c for c in app.segmented_control if c.key.startswith("frontier-front")]
        offered.append(list(keyed[0].options))
    assert offered[0] == ["Test rows", "Held-out rows"]
    assert offered[1] == ["Test rows"]
