"""The one training loop and what it tells its listeners."""
