"""What the visitor chose, kept across pages."""
