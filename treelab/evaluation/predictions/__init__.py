"""What a model predicts for the rows of any table, and which tree and rule decide."""
