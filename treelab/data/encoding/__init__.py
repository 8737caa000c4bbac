"""From a table to the numbers that learners train on, and splits back again."""
