"""Load tests: verdicts on an objective, and the figures of MLPerf's scenarios."""
