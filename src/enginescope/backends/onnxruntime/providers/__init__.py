"""Execution providers: options, opening, placement, failures."""
