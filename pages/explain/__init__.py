"""Parts of Explain: one row, and all rows."""
