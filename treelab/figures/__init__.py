"""Trees and arrays in, plotly figures out."""
