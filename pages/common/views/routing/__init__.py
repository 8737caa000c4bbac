"""What the Routing page shows, a file a view."""
