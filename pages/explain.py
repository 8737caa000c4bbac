"""Explain: pick a run and a row, say why it got its answer."""

from pages.common.picker import pick_run
from pages.common.theme import page_title

page_title("Why this answer?", "One row, its prediction, and the path that led to it.")
run = pick_run()
