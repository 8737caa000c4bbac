"""What can be done with a run."""
