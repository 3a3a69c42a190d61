"""Panels, phrases and charts of compared outputs."""
