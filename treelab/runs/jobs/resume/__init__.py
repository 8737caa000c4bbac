"""Trainings that go on: after a pause or a crash, or after their end."""
