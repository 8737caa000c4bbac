"""The run store, the worker and the queue: training is a job, a page is a window."""
