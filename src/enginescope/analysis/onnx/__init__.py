"""ONNX nodes of layers, and their work."""
