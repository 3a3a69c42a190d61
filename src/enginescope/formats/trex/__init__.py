"""trex's metadata files."""
