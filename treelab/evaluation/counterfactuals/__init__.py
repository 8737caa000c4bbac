"""What would have to change in a row for another prediction."""
