"""Facts of layers: times, types, reformats, tactics."""
