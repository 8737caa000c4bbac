"""The payload of the interactive tree viewer, and the page that holds it."""
