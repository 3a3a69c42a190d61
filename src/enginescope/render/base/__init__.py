"""Phrases, tables, figures and text that every result shares."""
