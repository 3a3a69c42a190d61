"""Building engines."""
