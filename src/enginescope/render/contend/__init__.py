"""A contention test on the terminal, as JSON, as Markdown and as a page."""
