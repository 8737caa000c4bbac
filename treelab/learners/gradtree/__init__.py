"""GradTree: one hard, axis-aligned tree trained by gradient descent."""
