"""The earlier address of Pruning, now on Tree."""

from pages.widgets.page import lead_on

lead_on("tree", tab="Scores")
