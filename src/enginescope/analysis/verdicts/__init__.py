"""Which side is faster, and how sure that is."""
