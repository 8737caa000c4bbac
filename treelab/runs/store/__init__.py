"""The run store: tables, runs, events, models and workers, in one folder."""
