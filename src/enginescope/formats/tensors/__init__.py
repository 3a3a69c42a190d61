"""Files with tensors: outputs, data sets, targets."""
