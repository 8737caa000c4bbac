"""What decides in an ensemble of weighted trees."""
