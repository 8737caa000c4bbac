"""Differentiable operators, batched over trees."""
