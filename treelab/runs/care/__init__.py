"""Looking after a data folder: what is wrong with it, copies of it, its size."""
