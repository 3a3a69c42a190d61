"""Rules on layers that TensorRT did not fuse, and on fused blocks that hide their layers."""
