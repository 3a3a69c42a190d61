"""Figures of a run: latency, throughput, energy."""
