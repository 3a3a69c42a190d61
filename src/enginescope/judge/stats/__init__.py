"""Statistics of one series of samples."""
