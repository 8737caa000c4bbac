"""Parts of Predict."""
