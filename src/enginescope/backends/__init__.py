"""Device wing, floor 4: one folder per runtime, behind one protocol."""
