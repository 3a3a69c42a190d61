"""Rules on an engine as a whole: its times, its shapes, its launches."""
