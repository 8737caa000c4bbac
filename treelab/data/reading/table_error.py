"""The error for a file that cannot be read as a table."""


class TableError(ValueError):
    """A file cannot be read as a table: what was wrong, where, and what to do."""
