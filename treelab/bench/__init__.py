"""The papers' tables and the speed measurements, from the command line."""
