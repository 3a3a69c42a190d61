"""Outputs compared with a reference, figures of tasks, and benchmarks of depth models."""
