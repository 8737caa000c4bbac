"""Controls, from single fields to whole forms; each returns what was chosen."""
