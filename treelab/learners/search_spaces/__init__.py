"""Which values of each learner's settings a sweep tries by default."""
