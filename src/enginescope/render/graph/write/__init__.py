"""Graphs as SVG and PNG."""
