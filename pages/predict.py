"""The earlier address of Predict, now a tab on Explain."""

from pages.widgets.page import lead_on

lead_on("explain", tab="New rows")
