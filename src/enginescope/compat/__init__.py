"""Other tools, emulated."""
