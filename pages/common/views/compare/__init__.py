"""What Compare shows: two runs beside each other, and many together."""
