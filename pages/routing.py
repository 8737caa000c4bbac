"""Routing: pick a run, draw where each class goes."""

from pages.common.picker import pick_run
from pages.common.theme import page_title

page_title(
    "Where does each class go?",
    "The share of a class's rows that passes each node, within each level.",
)
run = pick_run()
