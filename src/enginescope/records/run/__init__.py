"""A job, and what running it gives: the run, its samples, telemetry and outcome."""
