"""The earlier address of Rashomon, now a tab on Tree."""

from pages.widgets.page import lead_on

lead_on("tree", tab="Alternatives")
