"""Sections of the page: one file and one template each, listed in `every.py`."""
