"""A Dask cluster that trains: its machines see no file of the run store."""
