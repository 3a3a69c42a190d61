"""Decide whether an upgrade of the software below a model is safe."""
