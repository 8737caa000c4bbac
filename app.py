"""treelab in the browser: navigation and style, nothing else."""

import streamlit as st

from pages.state.visitor import needs_sign_in, require_sign_in
from pages.widgets import sidebar
from pages.widgets.page import (
    ASSETS,
    enter_app_shell,
    load_style,
    mode,
    open_first_page,
)
from pages.widgets.store_trouble import guarded, say_lost_runs, say_what_failed

st.set_page_config(
    page_title="treelab",
    page_icon=str(ASSETS / "icon.svg"),
    layout="wide",
)
load_style()
st.logo(
    str(ASSETS / f"wordmark-{mode()}.svg"), size="large", icon_image=ASSETS / "icon.svg"
)
page = st.navigation(
    {
        "Prepare": [
            # The first page's address is empty; "data" is for those who type it.
            st.Page(
                "pages/data.py",
                title="Data",
                icon=":material/table:",
                url_path="first",
            ),
            st.Page(open_first_page, url_path="data", visibility="hidden"),
            st.Page("pages/profile.py", title="Profile", icon=":material/analytics:"),
            st.Page("pages/train.py", title="Train", icon=":material/show_chart:"),
            st.Page("pages/sweep.py", title="Sweep", icon=":material/search:"),
        ],
        "Explore": [
            st.Page("pages/tree.py", title="Tree", icon=":material/account_tree:"),
            st.Page("pages/edit.py", title="Edit", icon=":material/edit:"),
            st.Page("pages/pruning.py", title="Pruning", icon=":material/content_cut:"),
            st.Page(
                "pages/rashomon.py", title="Rashomon set", icon=":material/grid_view:"
            ),
            st.Page("pages/routing.py", title="Routing", icon=":material/alt_route:"),
            st.Page("pages/explain.py", title="Explain", icon=":material/help:"),
            st.Page("pages/compare.py", title="Compare", icon=":material/compare:"),
            st.Page(
                "pages/predict.py", title="Predict", icon=":material/batch_prediction:"
            ),
        ],
        "History": [
            st.Page("pages/runs.py", title="Runs", icon=":material/history:"),
        ],
    },
    position="hidden" if needs_sign_in() else "sidebar",
    expanded=True,
)
require_sign_in()
enter_app_shell()
say_what_failed()
guarded(sidebar.show_jobs)()
guarded(say_lost_runs)()
guarded(page.run)()
