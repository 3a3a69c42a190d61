"""Sections of a plan's report card."""
