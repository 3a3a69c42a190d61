"""Results of depth-estimation benchmarks."""
