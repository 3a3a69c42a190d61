"""Search for the fastest options of a model."""
