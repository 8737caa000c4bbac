"""Larger parts of pages: viewers, panels, cards."""
