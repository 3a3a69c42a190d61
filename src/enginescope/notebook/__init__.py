"""Results as notebooks show them, and the functions that return results with a display."""
