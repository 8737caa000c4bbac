"""What every figure shares: its colours, its template, text that is safe to draw."""
