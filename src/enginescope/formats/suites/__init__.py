"""Suite files."""
