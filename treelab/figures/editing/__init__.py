"""A node whose split is being chosen: its rows along one column."""
