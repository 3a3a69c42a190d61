"""Drawings of a plan's graph."""
