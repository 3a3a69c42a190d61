"""Suites as text and pages."""
