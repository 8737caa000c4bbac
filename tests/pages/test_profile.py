"""The tab Columns says what is in a table before anything is trained."""

from dataclasses import replace

from tests.pages.stores import table
from treelab.data.reading.read_table import read_table


def words(app):
    return "\n".join(
        [*(m.value for m in app.markdown), *(c.value for c in app.caption)]
    )


def test_a_table_is_profiled_and_another_column_shown(visit, store):
    frame = table().assign(copy=lambda t: t["kind"].str.upper(), same=1)
    key = store.add_table(frame[["same", "copy", *table().columns]], "things")
    app = visit("data", table=key)
    app.selectbox(key=f"bar-target-{key}").set_value("kind").run()
    app.session_state["tab"] = "Columns"
    app.run()
    assert not app.exception
    assert "copy: rescaled balanced accuracy 1.00 alone" in words(app)
    assert "most are missing in texture" in words(app)
    assert {"gives the target away", "constant"} <= set(app.table[0].value["What"])
    box = app.selectbox(key=f"profile-column-{key}-kind")
    box.select("colour").run()
    assert not app.exception
    assert "3 different texts" in words(app)
    assert "hold the tails" not in words(app)
    box.select("radius").run()
    assert "the outermost bins hold the tails" in words(app)


def test_numbers_among_words_are_profiled_as_the_chosen_type_reads_them(visit, store):
    cells = [f"${1000 + 7 * i:,}" if i % 4 else "refused" for i in range(80)]
    lines = [f"{cell!r},{'uv'[i % 2]}" for i, cell in enumerate(cells)]
    text = "\n".join(["income,bought", *lines]).replace("'", '"')
    frame = read_table(text.encode(), "incomes.csv").frame
    app = visit("data", table=store.add_table(frame, "incomes"), tab="Columns")
    assert "numbers and words" in app.table[0].value["What"].tolist()
    assert "No value is missing." in words(app)
    problem = app.session_state["problem"]
    kinds = {"columns": ("income",), "kinds": (("income", "number"),)}
    app.session_state["problem"] = replace(problem, **kinds)
    app.run()
    assert "Columns to check" in [own.value for own in app.subheader]
    assert not app.table
    assert "missing in income, 25% of its rows" in words(app)


def test_a_target_that_cannot_be_learned_is_refused_here_too(visit):
    app = visit("data")
    app.selectbox(key="task-" + app.session_state["problem"].table_id + "-bar").select(
        "regression"
    ).run()
    app.session_state["tab"] = "Columns"
    app.run()
    assert "holds text" in app.error[0].value
    assert not app.exception
