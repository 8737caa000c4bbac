"""Runs: every run of this store."""

from pages.common.theme import page_title

page_title("What have I tried?", "All runs, newest first.")
