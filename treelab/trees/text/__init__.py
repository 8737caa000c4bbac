"""A tree in words, rules and DOT text."""
