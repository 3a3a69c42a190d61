"""Device wing, floor 5: jobs into runs, one fresh process each."""
