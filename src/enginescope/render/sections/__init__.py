"""Sections of the page, in the order of `render/page/page.py`."""
