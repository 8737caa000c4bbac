"""Train starts what was chosen and shows what has happened so far."""

from base64 import b64decode
from dataclasses import replace

import pandas as pd
import pytest
import streamlit as st

from pages.cached.runs import run_events
from pages.state import choices
from pages.train.training import _Training
from tests.pages.shown import cards, components, conditions, figures, page_text, viewers
from tests.pages.stores import add_run, report
from treelab.figures.style import LEARNER_COLORS
from treelab.learners.common.origin import Origin
from treelab.reports.run_curves import run_curve
from treelab.runs.jobs.derived import save_pruned
from treelab.runs.store.workers import ProcessId
from treelab.training.events import HISTORY, Progress
from treelab.trees.pruning import cost_complexity_path


def test_an_empty_store_says_what_will_be_here(visit):
    app = visit("train")
    assert "No run on this table yet" in app.info[0].value
    assert not app.button(key="train").disabled


def test_train_starts_the_ticked_learners_with_their_settings(store, visit):
    app = visit("train")
    app.number_input(key="setting-gradtree-max_depth").set_value(3).run()
    app.button(key="train").click().run()
    runs = {run.learner: run for run in store.runs()}
    assert set(runs) == {"cart", "gradtree"}
    assert runs["gradtree"].settings["max_depth"] == 3
    assert runs["cart"].settings["max_depth"] is None
    assert "depth 3" in cards(app)


def test_a_click_trains_each_learner_on_five_folds(store, visit):
    app = visit("train")
    app.button_group(key="data-splits").set_value("5 folds")
    app.button(key="train").click().run()
    assert not app.exception
    runs = store.runs()[::-1]
    assert all(run.problem.n_folds == 5 for run in runs)
    for learner in ("cart", "gradtree"):
        own = [run for run in runs if run.learner == learner]
        assert [run.problem.seed for run in own] == [0, 1, 2, 3, 4]
        assert {run.repeat_of for run in own[1:]} == {own[0].id}


def test_rows_split_by_time_are_trained_on_once(store, visit):
    later = {"split_by": "time", "split_column": "radius"}
    add_run(store, "cart", split=later)
    app = visit("train")
    app.session_state["data-splits"] = 3  # chosen for another table
    app.run()
    assert app.button_group(key="data-splits").options == ["1"]
    app.button(key="train").click().run()
    assert not app.exception
    assert {run.problem.split_by for run in store.runs()} == {"time"}
    assert not any(run.repeat_of for run in store.runs())


def test_nothing_ticked_trains_nothing(visit):
    app = visit("train")
    app.pills(key="learners").set_value([]).run()
    assert app.button(key="train").disabled


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1, two", "'two'"),
        ("0, nan", "'nan'"),
        ("-1", "too small"),
        ("3, 1", "ascending"),
        ("1, 1", "ascending"),
        ("", "at least one"),
    ],
)
def test_strengths_that_cannot_be_read_are_refused_in_place(visit, text, shown):
    app = visit("train")
    app.pills(key="learners").set_value(["argmin"]).run()
    app.text_input(key="setting-argmin-pruning_strength").set_value(text).run()
    assert shown in app.error[0].value.replace("\\", "")
    assert app.button(key="train").disabled


def test_every_run_has_a_card_with_its_state_and_score(store, visit):
    done = add_run(store, "gradtree")
    add_run(store, "cart")
    app = visit("train", run=done)
    assert cards(app).count('class="run"') == 2
    assert "macro F1 · test, 48 rows" in cards(app)


def test_when_all_are_done_one_line_says_what_was_found(store, visit):
    done = add_run(store, "gradtree")
    add_run(store, "cart")
    lines = [text.value for text in visit("train", run=done).markdown]
    assert any("on 48 test rows" in line and "GradTree" in line for line in lines)


def test_the_address_brings_the_table_of_its_run(store, visit):
    add_run(store, "cart", target="kind")
    run_id = add_run(store, "cart", target="weight")
    app = visit("train", run=run_id)
    assert app.session_state["problem"].target == "weight"
    assert app.query_params["run"] == run_id


def test_an_unknown_run_in_the_address_is_no_trouble(store, visit):
    add_run(store, "cart")
    assert visit("train", run="../../etc").title


def test_stop_asks_the_run_to_stop(store, visit):
    run_id = add_run(store, "gradtree", state="running")
    report(store, run_id)
    app = visit("train", run=run_id)
    app.button(key=f"stop-{run_id}").click().run()
    assert store.run(run_id).stop_requested
    assert "stopping" in cards(app)


def test_a_run_is_paused_and_resumed_by_its_card(store, visit):
    run_id = add_run(store, "gradtree", state="running")
    report(store, run_id)
    app = visit("train", run=run_id)
    app.button(key=f"pause-{run_id}").click().run()
    assert store.run(run_id).pause_requested
    assert "pausing" in cards(app)
    store.finish(run_id, "paused")
    app.run()
    assert "paused at 50%" in cards(app)
    app.button(key=f"resume-{run_id}").click().run()
    assert store.run(run_id).state == "queued"


def n_points(trace: dict) -> int:
    """How many points a line has, whose numbers are written as bytes."""
    return len(b64decode(trace["y"]["bdata"])) // 8


def test_curves_hold_every_point_whoever_opens_the_page(store, visit):
    run_id = add_run(store, "gradtree", state="running")
    report(store, run_id, n=4)
    first = visit("train", run=run_id)
    store.add_events(run_id, [Progress(5, 10, 0.1, 0.2, 0.9)])
    for app in (first.run(), visit("train", run=run_id)):
        assert n_points(figures(app)[0]["data"][0]) == 5
        assert run_events(store.run(run_id))["epoch"].tolist() == [1, 2, 3, 4, 5]


def test_a_run_whose_worker_died_is_interrupted_and_keeps_its_curve(
    store, visit, monkeypatch
):
    run_id = add_run(store, "gradtree", state="running")
    report(store, run_id)
    monkeypatch.setattr(ProcessId, "is_alive", lambda self: False)
    app = visit("train", run=run_id)
    assert store.run(run_id).state == "interrupted"
    assert "interrupted" in cards(app)
    assert n_points(figures(app)[0]["data"][0]) == 5
    app.button(key="train").click().run()
    assert len(store.runs()) == 3


def test_two_runs_of_one_learner_have_two_names_and_two_shades(store, visit):
    add_run(store, "gradtree", title="")
    run_id = add_run(store, "gradtree", seed=1)
    text = cards(visit("train", run=run_id))
    assert "GradTree 2" in text
    assert LEARNER_COLORS["gradtree"] in text


def test_a_run_again_just_so_waits_below(store, visit):
    add_run(store, "gradtree")
    run_id = add_run(store, "gradtree")
    app = visit("train", run=run_id)
    assert any("1 earlier run" in expander.label for expander in app.expander)


def test_a_run_s_tree_is_drawn_while_it_trains_and_keeps_its_name(store, visit):
    run_id = add_run(store, "gradtree", state="running")
    report(store, run_id)
    app = visit("train", run=run_id)
    (view,) = viewers(app)
    assert view["options"]["live"]
    assert "radius ≤ 10.1 mm" in conditions(view)
    assert len(view["classes"]) == 3
    (before,) = [element.proto.id for element in components(app)]
    tree = store.snapshot(run_id, 7)
    changed = tree.threshold.copy()
    changed[0] = 22
    store.add_snapshot(run_id, 9, replace(tree, threshold=changed, between=None))
    app.run()
    assert "radius ≤ 22 mm" in conditions(viewers(app)[0])
    assert "epoch 9" in app.markdown[-1].value
    assert [element.proto.id for element in components(app)] == [before]


def test_the_depth_of_get_is_left_to_it_unless_given(store, visit):
    app = visit("train")
    app.button_group(key="learners").set_value(["get"]).run()
    app.button(key="train").click().run()
    assert store.runs()[0].settings["max_depth"] == "auto"
    app.number_input(key="setting-get-max_depth").set_value(3).run()
    app.button(key="train").click().run()
    assert store.runs()[0].settings["max_depth"] == 3


def test_cross_validation_is_progress_and_the_curve_comes_after_it(store, visit):
    run_id = add_run(store, "gradtree", state="running")
    first = Progress(
        *(4, 10, 0.5, 0.5, 1.0), stage="cross-validation", is_preparation=True
    )
    store.add_events(run_id, [first])
    app = visit("train", run=run_id)
    assert "cross-validation · 40%" in cards(app)
    assert "cross\\-validation first, then its curve" in page_text(app)
    (dotted,) = [t for t in figures(app)[0]["data"] if t["line"].get("dash") == "dot"]
    assert dotted["legendgroup"].startswith("GradTree")
    store.add_events(run_id, [Progress(0, 10, 0.9, 0.9, 2.0, epochs_before=4)])
    app.run()
    assert "first, then its curve" not in page_text(app)
    assert "GradTree, start: %" in str(figures(app)[0])


@pytest.mark.parametrize(
    ("learner", "settings", "is_said", "has_baseline"),
    [
        ("gradtree", {"class_weight": "auto"}, True, True),
        ("gradtree", {"class_weight": None}, False, True),
        ("grande", {"class_weight": "auto"}, False, True),
        ("grande", {"class_weight": "balanced"}, True, True),
        ("grande", {"constraints": {"class_costs": {"a": {"b": 9}}}}, True, True),
        ("gradtree", {"loss": "focal"}, False, False),
    ],
)
def test_losses_stand_beside_the_baseline_that_compare_with_it(
    store, visit, learner, settings, is_said, has_baseline
):
    run_id = add_run(store, learner, state="running", settings=settings)
    store.add_events(run_id, [Progress(k, 10, 0.9, 0.9, 2.0) for k in (0, 4)])
    app = visit("train", run=run_id)
    assert ("classes may weigh more for" in page_text(app)) == is_said
    assert ("baseline" in str(figures(app)[0])) == has_baseline


def test_the_curve_of_a_paused_run_ends_where_it_was_paused(store):
    run = store.run(add_run(store, "gradtree", state="running"))
    run = replace(run, state="paused", epoch=20.0, max_epochs=100)
    events = pd.DataFrame({"epoch": [0.0, 20.0], "train_loss": 0.5, "valid_loss": 0.5})
    assert run_curve(run, events, "GradTree", "red", by="progress").x[-1] == 20


def test_each_point_of_a_cross_validation_is_drawn_as_it_comes(store):
    run = store.run(add_run(store, "gradtree", state="running"))
    watched = _Training([run], {run.id: ("GradTree", "red")}, run.problem, False)
    seen = [watched.curves_version()]
    for epoch in (0, 4, 8):
        point = (epoch, 10, 0.5, 0.5, float(epoch))
        stage = {"stage": "cross-validation", "is_preparation": True}
        store.add_events(run.id, [Progress(*point, **stage)])
        st.cache_resource.clear()  # what one watcher read serves the others a moment
        seen.append(watched.curves_version())
    assert len(set(seen)) == 4


def test_a_repeat_in_training_is_shown_however_far_it_is_by_now(
    store, visit, monkeypatch
):
    first = add_run(store, "cart")
    repeat = add_run(store, "gradtree", state="running", repeat_of=first)
    find = choices.find_run
    further = {"epoch": 7}  # than when all runs were read
    monkeypatch.setattr(
        choices, "find_run", lambda run: find(run) and replace(find(run), **further)
    )
    assert "GradTree" in cards(visit("train", run=repeat))


def test_a_finished_curve_begins_at_its_start_by_name(store, visit):
    run_id = add_run(store, "gradtree", origin=Origin("random", True, 3, 2))
    store.replace_events(
        run_id,
        pd.DataFrame(
            [(0, 0.9, 0.8, 0, "training"), (5, 0.2, 0.3, 1, "training")]
        ).set_axis(HISTORY, axis=1),
    )
    app = visit("train", run=run_id)
    assert "start: random splits" in str(figures(app)[0])


def test_runs_of_other_seeds_are_not_ranked_in_one_line(store, visit):
    add_run(store, "cart", seed=1)
    add_run(store, "gradtree")
    newest = add_run(store, "cart")
    lines = [text.value for text in visit("train", run=newest).markdown]
    (line,) = [line for line in lines if "on 48 test rows" in line]
    assert line.count("leaves") == 2
    assert "1 run of another data split had other test rows" in line


def test_runs_of_other_columns_say_how_many_they_had(store, visit):
    add_run(store, "cart", columns=["radius", "texture $x$", "colour", "ripe"])
    newest = add_run(store, "gradtree")
    (line,) = [
        text.value
        for text in visit("train", run=newest).markdown
        if "on 48 test rows" in text.value
    ]
    assert "from 4 features" in line
    assert "from 3 features" in line


def links(app) -> dict[str, str]:
    """The page's links, by label."""
    return {link.proto.label: link.proto.query_string for link in app.get("page_link")}


def test_links_name_the_runs_that_they_open(store, visit):
    best = add_run(store, "gradtree")
    greedy = add_run(store, "cart")
    for shown in (best, greedy):
        found = links(visit("train", run=shown))
        assert f"run={shown}" in found["See the tree"]
        assert found["Compare"] == f"run={shown}"


def test_the_first_tree_there_is_stands_beside_the_curves(store, visit):
    run = store.run(add_run(store, "gradtree", state="running"))
    run_id = store.create("gradtree", {}, run.problem)
    store.delete(run.id)
    waits = visit("train", run=run_id)
    assert "its first tree comes soon" in page_text(waits)
    assert len(waits.get("skeleton")) == 2
    add_run(store, "cart")
    app = visit("train", run=run_id)
    assert viewers(app)
    assert any(text.value.startswith("**CART**") for text in app.markdown)
    assert app.query_params["run"] == run_id


def test_chosen_learners_come_back_with_the_address(visit):
    app = visit("train")
    app.pills(key="learners").set_value(["get", "cart"]).run()
    named = app.query_params["learners"]
    again = visit("train", learners=named[0] if isinstance(named, list) else named)
    assert {*again.pills(key="learners").value} == {"get", "cart"}
    nonsense = visit("train", learners="no,such")
    assert nonsense.pills(key="learners").value == ["cart", "gradtree"]


def test_no_time_left_is_said_before_there_is_something_to_go_by(store, visit):
    run_id = add_run(store, "gradtree", state="running")
    store.add_events(run_id, [Progress(1, 1000, 1.0, 1.2, 30.0)])
    assert "left" not in cards(visit("train", run=run_id))
    assert store.run(run_id).remaining is None
    store.add_events(run_id, [Progress(500, 1000, 1.0, 1.2, 60.0)])
    assert store.run(run_id).remaining is not None


def test_learners_are_trained_on_several_data_splits_by_one_choice(store, visit):
    app = visit("train")
    app.button_group(key="data-splits").set_value(3)
    app.button(key="train").click().run()
    runs = store.runs()[::-1]
    assert [run.problem.seed for run in runs] == [0, 0, 1, 1, 2, 2]
    assert [run.repeat_of for run in runs] == [
        "",
        "",
        *[run.id for run in runs[:2]] * 2,
    ]
    assert app.session_state["run"] == runs[1].id
    assert "0 of 4 repeats trained" in page_text(app)
    assert not app.exception


def test_sizes_chosen_by_hand_stand_with_the_earlier_runs(store, visit):
    run = store.run(add_run(store, "cart"))
    smaller = cost_complexity_path(store.model(run.id))[1]
    saved = save_pruned(store, run, smaller)
    assert "(chosen by hand)" not in page_text(visit("train", run=run.id))
    assert "(chosen by hand)" in page_text(visit("train", run=saved))
