"""Stand-ins for what CI has not: TensorRT and the CUDA runtime. See `loading`."""
