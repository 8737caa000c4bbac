"""Parts of Tree."""
