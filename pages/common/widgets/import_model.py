"""A model that was trained elsewhere: read the visitor's file, store it as a run."""

import streamlit as st

from pages.common.cached.store import split_of, store
from pages.common.words import plain
from treelab.data.problem import Problem
from treelab.runs.jobs.import_model import import_model, model_from_bytes


def import_box(problem: Problem) -> None:
    """Offer a place for a model's file; what fits the problem becomes a run."""
    with st.expander("Import model", icon=":material/upload_file:", key="import"):
        file = st.file_uploader(
            "A model as a treelab file or as JSON",
            type=["treelab", "json"],
            key="import-file",
            help="Written by treelab's export, or JSON by xgboost's save_model. It is "
            "read as data; nothing in it is run.",
        )
        classes = None if problem.task == "regression" else _class_order(problem)
        st.caption(
            f"The model becomes a run that predicts {plain(problem.target)}, scored on "
            f"{plain(problem.table_name)}. For a tree or forest of scikit-learn, write "
            "treelab.from_sklearn(model).save('model.treelab')."
        )
        if st.button("Import", disabled=file is None, key="import-start"):
            try:
                model = model_from_bytes(file.getvalue(), file.name, classes)
                title = file.name.removesuffix(".json").removesuffix(".treelab")
                run_id = import_model(store(), model, problem, title)
            except ValueError as error:
                st.error(plain(error), icon=":material/error:")
                return
            st.switch_page("pages/tree.py", query_params={"run": run_id})


def _class_order(problem: Problem) -> list:
    """Let the visitor name the labels behind xgboost's class numbers."""
    labels = sorted(split_of(problem).y_train.unique().tolist(), key=str)
    return st.multiselect(
        "Classes 0, 1, … of an xgboost model",
        labels,
        default=labels,
        key=f"import-classes-{problem.table_id}-{problem.target}",
        help="xgboost stores class numbers, not names. Sorted is the order of "
        "scikit-learn's LabelEncoder; a treelab model names its own classes.",
    )
