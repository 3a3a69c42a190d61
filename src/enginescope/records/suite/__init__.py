"""A suite and its cells."""
