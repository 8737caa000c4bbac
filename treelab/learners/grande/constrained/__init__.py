"""Constraints on GRANDE: columns on offer, splits and leaves while it trains."""
