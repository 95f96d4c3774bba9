"""Published recordings read as they are, and actions that we generate."""
