"""Floor 0: errors, units, JSON, optional imports. Imports nothing of ours."""
