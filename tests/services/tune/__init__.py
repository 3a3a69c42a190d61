"""Search for the fastest options."""
