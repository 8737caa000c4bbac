"""Sweeps: which settings of a learner score best on a problem, searched by Optuna."""
