"""The report: page, Markdown, JSON and CSV."""
