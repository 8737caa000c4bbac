"""Who may see and change which run, once people sign in to the app."""
