"""Floor 2: the folder of runs and its index."""
