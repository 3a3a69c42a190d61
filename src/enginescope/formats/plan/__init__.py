"""A plan's JSON, layer by layer."""
