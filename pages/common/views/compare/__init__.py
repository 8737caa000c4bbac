"""What Compare shows of many runs together."""
