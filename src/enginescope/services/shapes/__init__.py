"""Service of shapes: which to run and build for, and what a change costs."""
