"""ONNX files: graphs, weights, sub-models, rounding."""
