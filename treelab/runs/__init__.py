"""The run store, the worker and the queue."""
