"""A model that was trained elsewhere: read the visitor's file, store it as a run."""

import streamlit as st

from pages.cached.store import split_of, store
from pages.widgets.words import plain
from treelab.data.problem import Problem
from treelab.runs.jobs.import_model import (
    import_model,
    model_from_bytes,
    read_categories,
)


def import_box(problem: Problem) -> None:
    """Offer a place for a model's file; what fits the problem becomes a run."""
    with st.expander("Import model", icon=":material/upload_file:", key="import"):
        file = st.file_uploader(
            "A model of treelab, xgboost or LightGBM",
            type=["treelab", "json", "txt"],
            key="import-file",
            help="Written by treelab's export, or by save_model: JSON of xgboost, text "
            "of LightGBM. It is read as data; nothing in it is run.",
        )
        classes = None if problem.task == "regression" else _class_order(problem)
        unsaid = {} if file is None else _unsaid(file.name)
        st.caption(
            f"The model becomes a run that predicts {plain(problem.target)}, scored on "
            f"{plain(problem.table_name)}. For a tree or forest of scikit-learn, write "
            "treelab.from_sklearn(model).save('model.treelab')."
        )
        if st.button("Import", disabled=file is None, key="import-start"):
            try:
                lines = unsaid.pop("categories", [])
                model = model_from_bytes(
                    file.getvalue(),
                    file.name,
                    classes,
                    categories=read_categories(filter(str.strip, lines)),
                    **unsaid,
                )
                title = file.name.rpartition(".")[0]
                run_id = import_model(store(), model, problem, title)
            except ValueError as error:
                st.error(plain(error), icon=":material/error:")
                return
            st.switch_page("pages/tree.py", query_params={"run": run_id})


def _unsaid(name: str) -> dict:
    """Let the visitor say what a file of xgboost or LightGBM may not tell."""
    if name.endswith(".treelab"):
        return {}
    missing = None
    if name.endswith(".json"):
        missing = st.number_input(
            "Missing value in an xgboost model's training",
            value=None,
            placeholder="empty cells only",
            key="import-missing",
            help="A number that counted as missing, such as -999: xgboost's file does "
            "not tell.",
        )
    rounds = st.number_input(
        "Boosting rounds",
        min_value=1,
        value=None,
        placeholder="as the model predicts",
        key="import-rounds",
        help="Read only the first rounds of an xgboost or LightGBM model.",
    )
    categories = st.text_area(
        "Categories",
        key="import-categories",
        placeholder="colour=red,green,blue",
        help="Only where an xgboost or LightGBM file lacks them: one column a line, "
        "its categories in the order of training.",
    )
    return {
        "missing": missing,
        "iteration_range": None if rounds is None else (0, int(rounds)),
        "categories": categories.splitlines(),
    }


def _class_order(problem: Problem) -> list:
    """Let the visitor name the labels behind xgboost's class numbers."""
    labels = sorted(split_of(problem).y_train.unique().tolist(), key=str)
    return st.multiselect(
        "Classes 0, 1, … of an xgboost or LightGBM model",
        labels,
        default=labels,
        key=f"import-classes-{problem.table_id}-{problem.target}",
        help="Both store class numbers, not names. Sorted is the order of "
        "scikit-learn's LabelEncoder; a treelab model names its own classes.",
    )
