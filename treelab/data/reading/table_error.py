"""The error that tells a person what is wrong with the file they brought."""


class TableError(ValueError):
    """A file cannot be read as a table: what was wrong, where, and what to do."""
