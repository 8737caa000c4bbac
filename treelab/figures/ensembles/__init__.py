"""Figures of an ensemble of weighted trees."""
