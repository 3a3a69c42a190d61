"""Verbs on stored runs."""
