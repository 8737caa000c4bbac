"""Data: choose a table and what to predict."""

from pages.common.theme import page_title

page_title(
    "What do you want to predict?", "A table, its columns, and the one to predict."
)
