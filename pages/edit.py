"""The earlier address of Edit, now a switch on Tree."""

from pages.widgets.page import lead_on

lead_on("tree", edit="true")
