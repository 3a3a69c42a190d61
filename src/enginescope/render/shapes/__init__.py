"""A sweep of shapes as terminal text, JSON, Markdown, CSV and a page."""
