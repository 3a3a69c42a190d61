"""Models with a fault at a known node: what `validate --bisect` must find."""
