"""TensorRT from Python, 8.6 to 11: build, run, profile, inspect."""
