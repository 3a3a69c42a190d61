"""Rules on layers that only rewrite or move data."""
