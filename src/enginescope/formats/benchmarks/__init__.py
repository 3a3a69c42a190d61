"""Results of general benchmark tools: hyperfine, Google Benchmark, nvbench."""
