"""Verbs that check outputs: validate, depth."""
