"""trex's engine archives."""
