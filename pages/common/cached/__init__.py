"""What the run store holds, read once and cached."""
