"""A visitor sees and changes what is allowed, and no more."""

import inspect
import shutil
from dataclasses import replace
from functools import partial

import pandas as pd
import pytest

from tests.pages.stores import add_run
from tests.runs.conftest import problem_in, small_table
from tests.runs.workers.slow_tree import SPEC
from treelab.cli.main import main
from treelab.learners.registry import LEARNERS
from treelab.runs.jobs.derived import save_derived
from treelab.runs.jobs.repeats import create_folds, create_repeats
from treelab.runs.jobs.run_one import run_one
from treelab.runs.store.run_store import RunStore, create_like
from treelab.runs.store.workers import ProcessId
from treelab.runs.users import (
    VARIABLE,
    NotAllowed,
    Visitor,
    VisitorStore,
    admins,
    audit_log,
    held_bytes,
    set_admin,
)
from treelab.training.events import Progress


@pytest.fixture
def ann(store):
    return VisitorStore(store.home, Visitor("ann@x.org"))


@pytest.fixture
def bob(store):
    return VisitorStore(store.home, Visitor("bob@x.org"))


@pytest.fixture
def admin(store):
    return VisitorStore(store.home, Visitor("root@x.org", is_admin=True))


def test_a_private_run_is_not_there_for_another(store, ann, bob, admin):
    run_id = ann.create("cart", {}, problem_in(ann))
    assert ann.run(run_id).user == "ann@x.org"
    assert [run.id for run in bob.runs()] == []
    with pytest.raises(LookupError, match="no run"):
        bob.run(run_id)
    edits_of = partial(bob.plan, name="edits")
    for reads in (bob.model, bob.log, bob.path, edits_of, bob.snapshots):
        with pytest.raises(LookupError):
            reads(run_id)
    assert admin.run(run_id) == store.run(run_id)


def test_a_table_is_seen_by_its_owner_and_with_a_run_on_it(ann, bob, admin):
    problem = problem_in(ann)
    assert bob.tables() == []
    for reads in (bob.table, bob.table_notes):
        with pytest.raises(LookupError, match="no table"):
            reads(problem.table_id)
    run_id = ann.create("cart", {}, problem)
    assert bob.tables() == []
    assert len(admin.tables()) == len(ann.tables()) == 1
    ann.set_private(run_id, False)
    assert [info.id for info in bob.tables()] == [problem.table_id]
    assert len(bob.table(problem.table_id)) == len(small_table())
    ann.set_private(run_id, True)
    with pytest.raises(LookupError, match="no table"):  # a run would show it again
        bob.create("cart", {}, problem)
    assert bob.tables() == bob.runs() == []


def test_what_nobody_owns_is_seen_by_all_and_changed_by_admins(store, ann, admin):
    run_id = store.create("cart", {}, problem_in(store))
    assert ann.run(run_id).user == ""
    assert ann.tables() == store.tables()
    with pytest.raises(NotAllowed, match="Only an admin"):
        ann.set_title(run_id, "mine")
    admin.set_title(run_id, "known")
    assert store.run(run_id).title == "known"


def test_another_changes_nothing_of_a_shared_run(store, ann, bob):
    run_id = ann.create("cart", {}, problem_in(ann))
    ann.set_private(run_id, False)
    store.submit(run_id)
    assert store.start(run_id, ProcessId.here())
    before = store.run(run_id)
    for change in (
        lambda: bob.request_stop(run_id),
        lambda: bob.request_pause(run_id),
        lambda: bob.resume(run_id),
        lambda: bob.delete(run_id),
        lambda: bob.set_title(run_id, "bob's"),
        lambda: bob.set_private(run_id, True),
        lambda: bob.delete_table(before.problem.table_id),
    ):
        with pytest.raises(NotAllowed, match="Only"):
            change()
    assert store.run(run_id) == before
    assert audit_log(store) == []


def test_who_stops_and_deletes_is_written_down(store, ann, admin):
    problem = problem_in(ann)
    first, second = (ann.create("cart", {}, problem) for _ in range(2))
    ann.request_stop(first)
    ann.delete(first)
    with pytest.raises(ValueError, match="A run needs this table"):
        ann.delete_table(problem.table_id)
    admin.delete(second)
    ann.delete_table(problem.table_id)
    assert [(line["user"], line["deed"]) for line in audit_log(store)] == [
        ("ann@x.org", "delete table"),
        ("root@x.org", "delete run"),
        ("ann@x.org", "delete run"),
        ("ann@x.org", "stop run"),
    ]
    assert store.tables() == []


def test_a_table_of_two_goes_with_the_last(ann, bob, store):
    table_id = problem_in(ann).table_id
    problem_in(bob)
    ann.delete_table(table_id)
    assert ann.tables() == []
    assert [info.id for info in bob.tables()] == [table_id]
    bob.delete_table(table_id)
    assert store.tables() == []


def test_a_table_with_a_run_of_another_stays(ann, bob, store):
    problem = problem_in(ann)
    problem_in(bob)
    bob.create("cart", {}, problem)
    ann.delete_table(problem.table_id)
    assert [info.id for info in bob.tables()] == [problem.table_id]


def test_a_repeat_is_as_private_as_its_run(ann):
    run_id = ann.create("cart", {}, problem_in(ann))
    ann.set_private(run_id, False)
    (repeat,) = create_repeats(ann, [ann.run(run_id)], 1)
    assert not ann.run(repeat).is_private


def test_what_is_made_of_a_private_run_is_private(store):
    ann = VisitorStore(store.home, Visitor("ann@x.org", is_private=False))
    parent = ann.run(add_run(ann, "cart"))
    for is_private in (False, True):
        ann.set_private(parent.id, is_private)
        run, model = ann.run(parent.id), ann.model(parent.id)
        for made in (
            create_like(ann, run, "again"),
            save_derived(ann, run, model, "by hand", "By hand.", {}),
            save_derived(store, run, model, "in a shell", "By hand.", {}),
        ):
            assert store.run(made).is_private == is_private
            assert is_private <= (ann.run(made).user == "ann@x.org")


def test_more_folds_need_not_the_run_that_others_repeat(ann):
    problem = replace(problem_in(ann), n_folds=2)
    first, *_ = create_folds(ann, "cart", {}, problem, n_repeats=2)
    ann.delete(first)
    later = create_folds(ann, "cart", {}, replace(problem, seed=2), n_repeats=2)
    assert [ann.run(run_id).problem.seed for run_id in later] == [4, 5]


def test_users_take_turns(store, ann, bob):
    problem = problem_in(store)
    many = [ann.create("gradtree", {}, problem) for _ in range(3)]
    late = [bob.create("gradtree", {}, problem) for _ in range(2)]
    for run_id in many + late:
        store.submit(run_id)
    assert store.queued() == [many[0], late[0], many[1], late[1], many[2]]
    assert store.claim_next(ProcessId.here()) == many[0]
    assert store.claim_next(ProcessId.here()) == late[0]


def test_the_command_line_names_admins_and_lists_the_audit(store, ann, capsys):
    named = ["--home", str(store.home)]
    assert main(["users", "--admin", "Root@x.org", *named]) == 0
    assert admins(store) == ["root@x.org"]
    ann.delete(ann.create("cart", {}, problem_in(ann)))
    assert main(["users", "--audit", *named]) == 0
    assert "ann@x.org  delete run  cart-" in capsys.readouterr().out
    assert main(["users", "--not-admin", "root@x.org", *named]) == 0
    assert "Admins: none." in capsys.readouterr().out
    set_admin(store, "a@x.org", True)
    assert admins(store) == ["a@x.org"]


def test_tables_of_one_visitor_are_not_named_to_another(ann, bob):
    ann.add_table(pd.DataFrame({"x": [1, 2], "y": ["a", "b"]}), "salaries")
    assert "salaries" not in [info.name for info in bob.tables()]


def test_whose_last_run_began_longest_ago_comes_first(store, problem, ann, bob):
    def queue(own):
        run_id = own.create("slow", {}, problem)
        own.submit(run_id)
        return run_id

    waiting = {own.user: [queue(own) for _ in range(3)] for own in (ann, bob)}
    late = VisitorStore(store.home, Visitor("cleo@x.org"))
    waiting[late.user] = [queue(late)]
    taken = []
    while run_id := store.claim_next(ProcessId.here()):
        taken.append(store.run(run_id).user)
        store.finish(run_id, "done")
    turns = [ann.user, bob.user]
    assert taken == [*turns, late.user, *turns, *turns]


def test_nothing_is_added_beyond_the_quota_but_by_an_admin(
    ann, bob, admin, monkeypatch
):
    problem = problem_in(ann)
    run_id = ann.create("cart", {}, problem)
    other = pd.DataFrame({"x": [1, 2], "y": ["a", "b"]})
    monkeypatch.setenv(VARIABLE, str(held_bytes(ann, ann.user) / 1e9))
    for add in (
        lambda: ann.create("cart", {}, problem),
        lambda: ann.add_table(other, "more"),
        lambda: create_repeats(ann, [ann.run(run_id)], 1),
    ):
        with pytest.raises(NotAllowed, match=r"take 0\.0 MB of 0\.0 MB\. Delete"):
            add()
    assert [run.id for run in ann.runs()] == [run_id]
    bob.add_table(other, "more")  # each has a quota of their own
    admin.delete(admin.create("cart", {}, problem))
    ann.delete(run_id)
    ann.delete_table(problem.table_id)
    ann.add_table(other, "more")
    monkeypatch.setenv(VARIABLE, "much")
    with pytest.raises(NotAllowed, match="must be a number"):
        ann.add_table(other, "more")


def called(visitor, name, values):
    """What a method returns, called with what its parameters are named; or refusal."""
    parameters = inspect.signature(getattr(RunStore, name)).parameters.values()
    needed = [each for each in parameters if each.default is each.empty][1:]
    try:
        return getattr(visitor, name)(**{p.name: values.get(p.name) for p in needed})
    except (LookupError, NotAllowed):
        return "refused"


METHODS = [
    name
    for name, _ in inspect.getmembers(RunStore, inspect.isfunction)
    if not name.startswith("_") and name not in ("create", "add_table")
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Stores whose run of ann's is finished and another waits: private, and shown."""
    made = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(LEARNERS, SPEC.key, SPEC)
        for is_private in (True, False):
            home = tmp_path_factory.mktemp("trained") / "home"
            ann = VisitorStore(home, Visitor("ann@x.org"))
            problem = problem_in(ann)
            run_id, waits = (ann.create(key, {}, problem) for key in ("slow", "cart"))
            for each in (run_id, waits):
                ann.set_private(each, is_private)
            run_one(run_id, home)
            RunStore(home).submit(waits)
            made[is_private] = home, problem, run_id, waits
    return made


@pytest.mark.parametrize("is_private", [True, False])
@pytest.mark.parametrize("name", METHODS)
def test_no_method_shows_or_changes_what_is_another_s(
    trained, tmp_path, name, is_private
):
    home, problem, run_id, waits = trained[is_private]
    store = RunStore(shutil.copytree(home, tmp_path / "copy"))
    bob, table_id = VisitorStore(store.home, Visitor("bob@x.org")), problem.table_id
    run = store.run(run_id)
    before = (run, store.run(waits), store.events(run_id).to_csv(), files(store))
    values = {"run_id": run_id, "table_id": table_id, "run": run, "state": "failed"}
    values |= {"owner": ProcessId.here(), "stage": "search", "epoch": 1.0, "log": "{}"}
    values |= {"reports": [], "trees": {}, "title": "bob's", "more": "{}", "plan": "{}"}
    values |= {"report": Progress(9, 9, 0.0, 0.0, 0.0), "settings": {}}
    values |= {"problem": problem, "history": store.events(run_id).head(1)}
    values |= {"model": store.model(run_id), "tree": store.model(run_id)}
    values |= {"path": store.model(run_id)}
    answer = called(bob, name, values)
    after = (run, store.run(waits), store.events(run_id).to_csv(), files(store))
    assert after == before
    assert store.run(run_id) == run
    if is_private and name != "folder":  # a path, whose files nobody is shown
        assert len(answer) == 0 if isinstance(answer, pd.DataFrame) else True
        assert not any(known in repr(answer) for known in (run_id, waits, table_id))


def files(store):
    """What is in the store's folder but its database."""
    found = [
        p for p in store.home.rglob("*") if p.is_file() and "treelab" not in p.name
    ]
    return {path: path.read_bytes() for path in found}
