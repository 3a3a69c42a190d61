"""Running engines: streams, buffers, passes."""
