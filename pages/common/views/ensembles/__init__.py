"""What pages show of an ensemble's trees together."""
