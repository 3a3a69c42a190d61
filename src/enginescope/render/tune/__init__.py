"""A search for the fastest options, on the terminal, as files and as a page."""
