"""Current runs against a baseline, over all jobs and metrics."""
