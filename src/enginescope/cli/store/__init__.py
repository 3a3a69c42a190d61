"""Verbs of the store: runs, import, report, serve."""
