"""How learners keep constraints: which columns a split may test, a greedy tree."""
