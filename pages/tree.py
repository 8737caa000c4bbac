"""Tree: pick a run, draw what it learned."""

from pages.common.picker import pick_run
from pages.common.theme import page_title

page_title(
    "What did it learn?", "The tree of one run, in the table's own columns and units."
)
run = pick_run()
