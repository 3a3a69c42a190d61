"""Rules on what TensorRT did not fuse, and on what it fused out of sight."""
