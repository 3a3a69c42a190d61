"""A ladder on the terminal, as JSON and as a page."""
