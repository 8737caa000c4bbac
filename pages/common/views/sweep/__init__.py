"""A sweep: what it tries, how it goes, what it found."""
