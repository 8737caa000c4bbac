"""Data opens with a table at hand, takes others, and never loses the one it has."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from threading import Event
from unittest.mock import Mock

import pandas as pd
import pytest

from pages.widgets.page import at_leisure
from pages.widgets.upload import said_of_cells
from tests.data.reading.formats.workbooks import sheet_xml, xlsx
from tests.pages.shown import page_text
from tests.pages.stores import add_run, table
from treelab.data.builtin import BUILTIN
from treelab.data.reading.read_table import ReadResult
from treelab.data.reading.table_error import TableError
from treelab.trees.dates import decimal_years

CSV = b"age,city,ill\n" + b"".join(
    b"%d,%s,%s\n"
    % (20 + i % 50, [b"Bern", b"Basel"][i % 2], [b"no", b"yes"][i % 3 == 0])
    for i in range(60)
)


def box(app, label, kind="selectbox"):
    return next(found for found in getattr(app, kind) if found.label == label)


def test_the_first_visit_finds_the_greedy_trap_and_one_prominent_button(visit):
    app = visit("data")
    assert box(app, "Table").value == "greedy_trap"
    assert box(app, "Target").value == "bar"
    assert app.button(key="train-defaults").label == "Train with defaults"
    assert not app.button(key="train-defaults").disabled
    assert app.query_params["table"] == "greedy_trap"


def test_breast_cancer_is_one_click_from_the_first_table(visit):
    app = visit("data")
    app.button(key="open-real-table").click().run()
    assert box(app, "Table").value == "breast_cancer"
    assert app.query_params["table"] == "breast_cancer"
    assert "open-real-table" not in [button.key for button in app.button]


def test_an_uploaded_table_is_deleted_with_its_runs(store, visit):
    run = add_run(store, "cart")
    table_id = store.run(run).problem.table_id
    app = visit("data", table=table_id)
    app.button(key="delete-table").click().run()
    assert "and the 1 run trained on it" in " ".join(m.value for m in app.markdown)
    app.button(key="delete-sure").click().run()
    assert not app.exception
    assert table_id not in [info.id for info in store.tables()]
    assert not store.runs()
    assert box(app, "Table").value == "greedy_trap"
    assert "delete-table" not in [button.key for button in app.button]


@pytest.mark.parametrize(
    "key",
    [
        "breast_cancer",
        *(
            pytest.param(key, marks=pytest.mark.slow)
            for key in BUILTIN
            if key != "breast_cancer"
        ),
    ],
)
def test_every_built_in_table_opens_with_its_own_target(visit, key):
    app = visit("data", table=key)
    assert box(app, "Target").value == BUILTIN[key].target
    assert not app.error


def test_training_with_defaults_starts_two_runs_and_turns_to_train(store, visit):
    app = visit("data")
    app.button(key="train-defaults").click().run()
    runs = store.runs()
    assert {run.learner for run in runs} == {"cart", "gradtree"}
    assert {run.state for run in runs} == {"queued"}
    assert app.title[0].value == "Train and watch"


def test_a_double_click_starts_nothing_twice(store, visit, monkeypatch):
    monkeypatch.setattr("pages.state.choices.DOUBLE_CLICK", 60.0)  # a busy machine
    app = visit("data")
    app.button(key="train-defaults").click().run()
    app.switch_page("pages/data.py").run()
    app.button(key="train-defaults").click().run()
    assert len(store.runs()) == 2


def test_another_target_brings_its_own_task(visit):
    app = visit("data", table="breast_cancer")
    box(app, "Target").select("mean radius").run()
    assert app.session_state["problem"].task == "regression"
    assert "diagnosis" in app.session_state["problem"].columns
    assert not app.exception


def test_a_task_that_does_not_fit_is_refused_in_a_sentence(visit):
    app = visit("data")
    box(app, "Task").select("regression").run()
    assert "holds text" in app.error[0].value
    assert app.button(key="train-defaults").disabled
    assert not app.exception


def test_choices_are_kept_from_page_to_page_and_table_to_table(visit):
    app = visit("data")
    box(app, "Table").select("breast_cancer").run()
    box(app, "Target").select("mean area").run()
    app.switch_page("pages/runs.py").run()
    app.switch_page("pages/data.py").run()
    assert box(app, "Target").value == "mean area"
    box(app, "Table").select("iris").run()
    assert box(app, "Target").value == BUILTIN["iris"].target
    box(app, "Table").select("breast_cancer").run()
    assert box(app, "Target").value == "mean area"


def test_the_seed_is_that_of_the_split(visit):
    app = visit("data")
    box(app, "Seed", "number_input").set_value(7).run()
    assert app.session_state["problem"].seed == 7
    app.button(key="open-real-table").click().run()
    assert app.session_state["problem"].seed == 0
    assert box(app, "Seed", "number_input").value == 0


def test_an_upload_becomes_the_table_in_view(store, visit):
    app = visit("data")
    app.session_state["upload-open"] = True
    app.file_uploader(key="upload").upload("people.csv", CSV, "text/csv").run()
    assert not app.session_state["upload-open"]  # the table is what comes next
    assert box(app, "Target").value == "ill"
    assert app.session_state["problem"].task == "binary"
    assert store.tables()[0].name == "people.csv"
    assert not app.error


def test_what_reading_found_is_said_on_every_visit(store, visit):
    app = visit("data")
    text = "a;b;y\n" + "".join(f"{i},5;{i % 7};{'pq'[i % 2]}\n" for i in range(60))
    app.file_uploader(key="upload").upload("t.csv", text.encode(), "text/csv").run()
    said = "are decimal commas"
    assert said in page_text(app)
    (table_id,) = (own.id for own in store.tables() if own.name == "t.csv")
    assert said not in page_text(visit("data", table=store.add_table(table(), "new")))
    assert said in page_text(visit("data", table=table_id))


def test_one_sheet_of_a_workbook_is_chosen(store, visit):
    rows = [["size", "kind"], *([i % 7, "ab"[i % 2]] for i in range(60))]
    other = [["width", "sort"], *rows[1:]]
    book = xlsx(Other=sheet_xml(other), Much=sheet_xml(rows))
    app = visit("data")
    app.file_uploader(key="upload").upload("book.xlsx", book).run()
    assert not app.error
    editors = []
    for sheet in ("Other", "Much"):
        app.selectbox(key="upload-sheet").select(sheet)
        app.number_input(key="upload-header").set_value(1)
        app.button(key="read-chosen").click().run()
        editors += [own.proto.id for own in app.dataframe if "as_text" in own.value]
    assert len(set(editors)) == 2  # what is said of columns is not said of others
    assert store.tables()[0].name == "book.xlsx, Much"
    assert box(app, "Target").value == "kind"
    assert not app.error


def test_how_a_text_was_read_is_shown_and_can_be_changed(store, visit):
    text = "size;kind\n" + "".join(f"{i % 9},5;{'ab'[i % 2]}\n" for i in range(60))
    app = visit("data")
    app.file_uploader(key="upload").upload("t.csv", text.encode(), "text/csv").run()
    assert app.selectbox(key="upload-delimiter").placeholder == "detected: semicolon"
    assert app.selectbox(key="upload-decimal").placeholder == "detected: comma"
    assert app.selectbox(key="upload-encoding").placeholder == "detected: UTF-8"
    app.number_input(key="upload-header").set_value(0)
    app.button(key="read-chosen").click().run()
    assert not app.error
    assert list(store.table(store.tables()[0].id).columns) == ["column_1", "column_2"]


def test_a_pasted_table_leaves_what_is_asked_of_the_file_beside_it(store, visit):
    app = visit("data")
    app.file_uploader(key="upload").upload("people.csv", CSV, "text/csv").run()
    columns = app.session_state["upload-columns"]
    app.text_area(key="upload-pasted").set_value("size;kind\n1,5;a\n2,5;b\n" * 9)
    app.button(key="read-pasted").click().run()
    assert store.tables()[0].name == "Pasted table"
    assert app.session_state["upload-columns"] == columns
    assert app.session_state["upload-form"].delimiter == ","


def test_a_pasted_table_is_read(store, visit):
    app = visit("data")
    app.text_area(key="upload-pasted").set_value(CSV.decode().replace(",", "\t"))
    app.button(key="read-pasted").click().run()
    assert box(app, "Target").value == "ill"
    assert store.tables()[0].name == "Pasted table"
    assert app.text_area(key="upload-pasted").value == ""
    app.button(key="read-pasted").click().run()
    assert app.error[0].value.startswith("Pasted table is empty")


@pytest.mark.parametrize(
    "content", [b"", b"a,b\n", b"a,b\n1,2\n3\n4,5,6,7\n", b"\x00\x01"]
)
def test_a_file_that_is_no_table_leaves_the_table_in_view(visit, content):
    app = visit("data", table="wine")
    app.file_uploader(key="upload").upload("bad.csv", content, "text/csv").run()
    assert not app.exception
    assert box(app, "Table").value == "wine"
    assert len(app.error) == 1
    assert app.error[0].value.startswith("bad.csv")


def test_a_column_named_like_markup_is_shown_as_it_stands(visit):
    frame = pd.DataFrame({"<b>x</b> $a$": range(40), "kind": ["**u**", "v"] * 20})
    app = visit("data")
    content = frame.to_csv(index=False).encode()
    app.file_uploader(key="upload").upload("odd.csv", content, "text/csv").run()
    assert not app.exception
    page = "".join(element.proto.body for element in app.get("html"))
    assert "&lt;b&gt;x" in page
    assert "<b>x</b>" not in page


def test_a_table_opens_as_it_was_last_trained_on(store, visit):
    add_run(store, "cart", target="weight")
    (info,) = store.tables()
    app = visit("data", table=info.id)
    assert box(app, "Target").value == "weight"
    assert app.session_state["problem"].columns == ("radius", "texture $x$", "colour")


def test_rows_are_split_by_group_and_the_groups_are_not_predicted_from(visit, store):
    frame = table().assign(patient=[f"p{i % 30}" for i in range(240)])
    key = store.add_table(frame, "patients")
    app = visit("data", table=key)
    app.selectbox(key=f"bar-target-{key}").set_value("kind").run()
    app.selectbox(key=f"split-way-{key}-kind").set_value("group").run()
    chosen = app.session_state["problem"]
    assert chosen.split_by == "group"
    app.selectbox(key=f"split-by-group-{key}-kind").set_value("patient").run()
    chosen = app.session_state["problem"]
    assert chosen.split_column == "patient"
    assert "patient" not in chosen.columns
    (columns,) = (own.value for own in app.dataframe if "use" in own.value)
    assert not columns.set_index("column")["use"]["patient"]
    assert not app.exception
    assert not app.error
    app.selectbox(key=f"split-way-{key}-kind").set_value("random").run()
    assert app.session_state["problem"].split_column == ""


def test_a_file_of_test_rows_leaves_all_else_as_it_was_chosen(visit, store):
    run = store.run(add_run(store, "cart", split={"kinds": {"radius": "category"}}))
    app = visit("data", run=run.id)
    key = f"test-file-{run.problem.table_id}"
    rows = table(20, seed=1).to_parquet()
    app.file_uploader(key=key).upload("test.parquet", rows).run()
    assert not app.error
    now = app.session_state["problem"]
    assert now.split_by == "given"
    assert now.split(store.table(now.table_id)).n_rows("test") == 20
    same = ("columns", "kinds", "units", "target", "task")
    assert all(getattr(now, own) == getattr(run.problem, own) for own in same)


def as_sheet(frame):
    """A sheet with a table's rows; a missing number is an empty cell."""
    rows = frame.astype(object).where(frame.notna(), None).to_numpy().tolist()
    return sheet_xml([list(frame.columns), *rows])


def test_of_a_test_file_with_several_sheets_one_is_chosen(visit, store):
    frame = table()
    key = store.add_table(frame, "old")
    app = visit("data", table=key)
    own = f"test-file-{key}"
    book = xlsx(Notes=sheet_xml([["a"], [1]]), Rows=as_sheet(frame.head(20)))
    app.file_uploader(key=own).upload("new.xlsx", book).run()
    assert not app.error
    assert not app.exception
    app.selectbox(key=f"{own}-sheet").select("Rows")
    app.button(key=f"{own}-read").click().run()
    assert not app.error
    now = app.session_state["problem"]
    assert now.table_name == "old, tested on new.xlsx, Rows"
    assert now.split(store.table(now.table_id)).n_rows("test") == 20
    notes = [own.value for own in app.markdown]
    assert any(r"new.xlsx, Rows\: The sheet" in own for own in notes)


def test_a_test_file_whose_header_is_not_found_is_read_again(visit, store):
    frame = table()
    key = store.add_table(frame, "old")
    app = visit("data", table=key)
    own = f"test-file-{key}"
    names = ",".join(name.upper() for name in frame.columns)
    text = f"{names}\n{frame.head(20).to_csv(index=False)}"
    app.file_uploader(key=own).upload("new.csv", text.encode()).run()
    assert "lacks the column" in app.error[0].value
    app.number_input(key=f"{own}-header").set_value(2)
    app.button(key=f"{own}-read").click().run()
    assert not app.error
    now = app.session_state["problem"]
    assert now.split(store.table(now.table_id)).n_rows("test") == 20


def test_a_query_chooses_the_test_rows_of_a_database(visit, store, tmp_path):
    frame = table()
    key = store.add_table(frame, "old")
    app = visit("data", table=key)
    own = f"test-file-{key}"
    with closing(sqlite3.connect(tmp_path / "new.db")) as database:
        frame.to_sql("a", database, index=False)
        frame.to_sql("b", database, index=False)
    content = (tmp_path / "new.db").read_bytes()
    app.file_uploader(key=own).upload("new.db", content).run()
    app.text_area(key=f"{own}-query").set_value("SELECT * FROM b LIMIT 30")
    app.button(key=f"{own}-read").click().run()
    assert not app.error
    now = app.session_state["problem"]
    assert now.split(store.table(now.table_id)).n_rows("test") == 30


def test_parts_of_dates_are_ticked(visit, store):
    at = decimal_years(pd.Series(pd.date_range("2020-01-03", periods=240, freq="9D")))
    key = store.add_table(table().assign(at=at), "dates")
    app = visit("data", table=key)
    app.selectbox(key=f"bar-target-{key}").set_value("kind").run()
    pills = app.button_group(key=f"dates-at-{key}-kind")
    pills.set_value(["month of at", "days from 2020-01-03 to at"]).run()
    assert app.session_state["problem"].columns[-2:] == (
        "month of at",
        "days from 2020-01-03 to at",
    )
    assert not app.exception


def test_a_table_of_openml_is_fetched_when_the_button_is_pressed(
    visit, store, monkeypatch
):
    frame = table()[["radius", "kind"]]
    monkeypatch.setattr(
        "pages.widgets.upload.read_openml",
        lambda named, folder: (
            ReadResult(frame, [], [], frame),
            f"{named} (OpenML 1590)",
        ),
    )
    app = visit("data")
    assert app.button(key="read-openml").disabled
    app.selectbox(key="openml-name").select("adult").run()
    app.button(key="read-openml").click().run()
    assert not app.exception
    assert store.tables()[0].name == "adult (OpenML 1590)"
    assert box(app, "Target").value == "kind"


def test_a_table_that_cannot_be_fetched_is_refused_in_a_sentence(visit, monkeypatch):
    def refuse(named, folder):
        raise TableError(f"OpenML cannot be reached for {named}.")

    monkeypatch.setattr("pages.widgets.upload.read_openml", refuse)
    app = visit("data")
    app.selectbox(key="openml-name").select("wdbc").run()
    app.button(key="read-openml").click().run()
    assert not app.exception
    assert "OpenML cannot be reached for wdbc" in app.error[0].value.replace("\\", "")


def test_what_is_edited_of_columns_is_said_to_the_reader():
    edited = {0: {"missing": "-999, refused"}, 2: {"keep_na": True, "as_text": False}}
    assert said_of_cells(["a", "b", "c"], edited) == {
        "missing": {"a": ["-999", "refused"]},
        "keep_na": ["c"],
        "as_text": [],
    }


def test_a_press_is_answered_while_columns_are_looked_through(monkeypatch):
    free = Event()
    state = Mock(get=Mock(side_effect=InterruptedError))  # as Streamlit stops here
    monkeypatch.setattr("pages.widgets.page.readiness", lambda: None)
    with monkeypatch.context() as patched:
        patched.setattr("pages.widgets.page.st.session_state", state)
        with pytest.raises(InterruptedError):
            at_leisure(free.wait, 60)
    free.set()
    assert at_leisure(sum, [1, 2]) == 3
    with pytest.raises(TableError):
        at_leisure(Mock(side_effect=TableError("damaged")))


def test_text_made_numbers_is_said_to_miss_what_shows_none(store, visit):
    text = "mark;kind\n" + "".join(
        f"{'absent' if i % 4 == 0 else f'{i % 9},5'};{'ab'[i % 2]}\n" for i in range(60)
    )
    app = visit("data")
    app.file_uploader(key="upload").upload("t.csv", text.encode(), "text/csv").run()

    def marks() -> pd.Series:
        (shown,) = (own.value for own in app.dataframe if "use" in own.value)
        return shown.set_index("column").loc["mark"]

    assert (marks()["missing"], marks()["different"]) == (0, 10)
    problem = app.session_state["problem"]
    app.session_state["problem"] = replace(problem, kinds=(("mark", "number"),))
    app.run()
    assert (marks()["missing"], marks()["different"]) == (0.25, 9)
    app.session_state["problem"] = problem
    app.run()
    assert (marks()["missing"], marks()["different"]) == (0, 10)
