"""Rules on a whole engine: its times, shapes and launches."""
