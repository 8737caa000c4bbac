"""The tab Columns says what is in a table before anything is trained."""

from tests.pages.stores import table


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


def test_a_target_that_cannot_be_learned_is_refused_here_too(visit):
    app = visit("data")
    app.selectbox(key="task-" + app.session_state["problem"].table_id + "-bar").select(
        "regression"
    ).run()
    app.session_state["tab"] = "Columns"
    app.run()
    assert "holds text" in app.error[0].value
    assert not app.exception
