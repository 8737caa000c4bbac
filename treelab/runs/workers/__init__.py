"""Who trains: the queue, the worker processes and the Dask cluster."""
