"""TensorRT's verbose build log."""
