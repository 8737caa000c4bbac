"""Parts of Rashomon."""
