"""Graphs as SVG, PNG and DOT."""
