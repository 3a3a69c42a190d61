"""Cells of suites as jobs."""
