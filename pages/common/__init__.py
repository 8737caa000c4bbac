"""What the pages share: the store, the run picker, words and the look."""
