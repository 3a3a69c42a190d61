"""Measure how much builds of one model differ."""
