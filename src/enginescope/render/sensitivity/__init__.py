"""What layers lose in a lower precision, on the terminal, as files and as a page."""
