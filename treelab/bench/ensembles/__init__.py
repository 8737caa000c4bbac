"""What is measured of ensembles beside their scores."""
