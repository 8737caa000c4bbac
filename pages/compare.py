"""Compare: two runs side by side on the same test rows."""

from pages.common.picker import pick_run
from pages.common.theme import page_title

page_title(
    "Is it better than greedy, and where?",
    "Two trees side by side, scored on the same test rows.",
)
run = pick_run()
