"""Tables of a suite: rows, gains, gate."""
