"""Load tests on terminal, in Markdown and on a page."""
