"""Device wing, floor 3: what this machine is and does."""
