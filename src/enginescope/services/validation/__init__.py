"""`validate` as a whole."""
