"""Tables: where they come from, what their columns mean, how they become numbers."""
