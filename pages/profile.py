"""The earlier address of Profile, now a tab on Data."""

from pages.widgets.page import lead_on

lead_on("data", tab="Columns")
