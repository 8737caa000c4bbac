"""What the trees must keep, as a form."""
