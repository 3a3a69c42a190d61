"""Polygraphy's logs."""
