"""Several models on the same rows: where they part, what their errors cost."""
