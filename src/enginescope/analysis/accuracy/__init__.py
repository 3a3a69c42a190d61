"""Outputs against a reference: limits, comparison, verdict."""
