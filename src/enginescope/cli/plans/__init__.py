"""Verbs of plans: explore, lint, process, archive."""
