"""Train: start runs and watch them learn."""

from pages.common.theme import page_title

page_title("How do the trees learn?", "Loss by epoch of every run on this table.")
