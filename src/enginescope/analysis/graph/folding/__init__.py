"""Layers of a plan's graph put together: by module, or by what repeats."""
