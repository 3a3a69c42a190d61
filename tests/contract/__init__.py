"""Tests that hold what the product uses of TensorRT and CUDA against the real bindings."""
