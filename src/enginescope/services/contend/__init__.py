"""Service of contend: what engines lose that share a GPU or a processor."""
