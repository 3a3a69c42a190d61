"""Verbs of the store: runs, import, report, push, serve."""
