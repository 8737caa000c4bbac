"""Predict: pick a run, bring a table, see and download what it predicts."""

from pages.predict.predictions import (
    pick_given_table,
    say_what_is_read,
    show_predictions,
)
from pages.widgets.page import page_title
from pages.widgets.runs import pick_loaded_run

page_title(
    "What does it predict for new rows?",
    "Predictions for each row of a table that you bring, with the rule behind each.",
)
loaded = pick_loaded_run()
given = pick_given_table(loaded)
if given is None:
    say_what_is_read(loaded)
else:
    show_predictions(loaded, given)
