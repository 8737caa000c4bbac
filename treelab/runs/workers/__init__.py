"""Where runs are trained: the queue, the worker processes and the Dask cluster."""
