"""What trex (NVIDIA's trt-engine-explorer 0.2.1) tests, and where it is known to be wrong."""
