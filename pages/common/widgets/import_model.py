"""A model that was trained elsewhere: read the visitor's file, keep it as a run."""

import streamlit as st

from pages.common.cached.store import split_of, store
from pages.common.words import plain
from treelab.data.problem import Problem
from treelab.runs.jobs.import_model import import_model, model_from_json


def bring_box(problem: Problem) -> None:
    """Offer a place for a model's file; what fits the problem becomes a run."""
    with st.expander(
        "Bring a tree trained elsewhere", icon=":material/upload_file:", key="bring"
    ):
        file = st.file_uploader(
            "A model as JSON",
            type=["json"],
            key="bring-file",
            help="JSON that treelab's export wrote, or xgboost's save_model. It is "
            "read as data; nothing in it is run.",
        )
        classes = None if problem.task == "regression" else _class_order(problem)
        st.caption(
            f"It becomes a run that predicts {plain(problem.target)}, with scores on "
            f"{plain(problem.table_name)}. A tree or forest of scikit-learn comes "
            "by way of Python: treelab.from_sklearn(model).to_dict(), written as JSON."
        )
        if st.button("Keep it as a run", disabled=file is None, key="bring-keep"):
            try:
                model = model_from_json(file.getvalue(), file.name, classes)
                title = file.name.removesuffix(".json")
                run_id = import_model(store(), model, problem, title)
            except ValueError as error:
                st.error(plain(error), icon=":material/error:")
                return
            st.switch_page("pages/tree.py", query_params={"run": run_id})


def _class_order(problem: Problem) -> list:
    """Let the visitor say which labels stand behind xgboost's numbers."""
    labels = sorted(split_of(problem).y_train.unique().tolist(), key=str)
    return st.multiselect(
        "Classes 0, 1, … of an xgboost model",
        labels,
        default=labels,
        key=f"bring-classes-{problem.table_id}-{problem.target}",
        help="xgboost numbers its classes and forgets their names. Sorted is how "
        "scikit-learn's LabelEncoder numbers them; a treelab model names its own.",
    )
