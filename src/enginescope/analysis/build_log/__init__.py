"""Summary of a build log."""
