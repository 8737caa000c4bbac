"""The views of the Profile page."""
