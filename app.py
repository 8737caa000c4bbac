"""treelab in the browser: navigation and style, nothing else."""

import streamlit as st

from pages.cached.store import start_workers
from pages.state.visitor import needs_sign_in, require_sign_in
from pages.widgets import sidebar
from pages.widgets.page import ASSETS, enter_app_shell, lead_on, load_style, mode
from pages.widgets.words import guarded, say_lost_runs, say_what_failed

# Addresses of earlier versions: files, as a fresh server finds no other.
EARLIER = "edit", "predict", "profile", "pruning", "rashomon", "routing", "sweep"

st.set_page_config(
    page_title="treelab", page_icon=str(ASSETS / "icon.svg"), layout="wide"
)
load_style()
st.logo(
    str(ASSETS / f"wordmark-{mode()}.svg"), size="large", icon_image=ASSETS / "icon.svg"
)
page = st.navigation(
    [
        # The first page's address is empty; "data" is for those who type it.
        st.Page(
            "pages/data.py", title="Data", icon=":material/table:", url_path="first"
        ),
        st.Page("pages/train.py", title="Train", icon=":material/show_chart:"),
        st.Page("pages/tree.py", title="Tree", icon=":material/account_tree:"),
        st.Page("pages/explain.py", title="Explain", icon=":material/help:"),
        st.Page("pages/compare.py", title="Compare", icon=":material/compare:"),
        st.Page("pages/runs.py", title="Runs", icon=":material/history:"),
        *(st.Page(f"pages/{name}.py", visibility="hidden") for name in EARLIER),
        st.Page(lambda: lead_on("data"), url_path="data", visibility="hidden"),
    ],
    position="hidden" if needs_sign_in() else "sidebar",
    expanded=True,
)
require_sign_in()
enter_app_shell()
say_what_failed()
guarded(sidebar.show_jobs)()
guarded(say_lost_runs)()
try:
    guarded(page.run)()
finally:
    start_workers()
