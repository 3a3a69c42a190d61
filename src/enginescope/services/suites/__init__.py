"""Suites: many models on many backends, each cell in processes of its own."""
