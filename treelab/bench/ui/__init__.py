"""How soon the app answers: server time of every page on a large table."""
