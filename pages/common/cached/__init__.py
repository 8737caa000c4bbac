"""What the run store holds, read and measured once."""
