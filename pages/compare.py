"""Compare: the bar's run and another, which is better, their trees, why and where."""

from functools import partial

import streamlit as st

from pages.compare.costs import show_curves
from pages.compare.errors import show_errors
from pages.compare.frontier import show_frontier
from pages.compare.pair import follow_earlier_address, names_of, pick_runs
from pages.compare.repeats import show_seeds
from pages.compare.verdict import show_trees, show_verdict
from pages.compare.why import reasons
from pages.tree.groups import show_groups
from pages.widgets.export import report_buttons
from pages.widgets.page import page_title, require_app_shell, show_tabs
from pages.widgets.tree_choices import pick_row

require_app_shell()
follow_earlier_address()  # before the bar writes what is current into the address
page_title("Which tree is better, and where?")
with st.container(horizontal=True, vertical_alignment="bottom", key="pair"):
    pair, others = pick_runs()
    words = "Its decision path is highlighted in both trees."
    place = pick_row(pair[0], "Follow a test row", "compare-row", words, width=220)
names = names_of(pair)
show_verdict(pair, names, others)
more = show_trees(pair, names, others, place)
show_frontier(pair)

parts = {**reasons(pair), "Errors": show_errors}
if pair[0].model.classes is not None:
    parts |= {"Groups": show_groups, "Cost": show_curves}
parts |= {"Repeats": show_seeds, **more}
show_tabs({name: partial(show, pair, names) for name, show in parts.items()})
report_buttons([*pair, *others])
