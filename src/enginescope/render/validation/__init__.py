"""A validation as text, data and page."""
