"""What constraints ask of soft trees: columns on offer, and terms of the loss."""
