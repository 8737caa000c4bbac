"""The earlier address of Sweep, now a tab on Train."""

from pages.widgets.page import lead_on

lead_on("train", tab="Tune")
