"""Floor 2: statistics. Pure functions over arrays; no I/O."""
