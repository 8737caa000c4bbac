"""Pruning: pick a run, move along its trees of falling size."""

from pages.common.picker import pick_run
from pages.common.theme import page_title

page_title(
    "How small can it be?",
    "The trees of one run from large to small, and what each costs.",
)
run = pick_run()
