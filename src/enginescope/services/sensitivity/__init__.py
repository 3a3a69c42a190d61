"""Convert a layer at a time to a lower precision: what it loses, and what it saves."""
