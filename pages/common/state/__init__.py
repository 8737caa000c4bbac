"""What the visitor chose, remembered across pages and in the address."""
