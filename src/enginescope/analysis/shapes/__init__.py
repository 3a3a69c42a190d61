"""Sweeps of shapes: levels, the knee, costs of changes, proposed profiles."""
