"""Rules on precisions, tensor cores and alignment."""
