"""What a worker does with a run, from its id to its saved model."""
