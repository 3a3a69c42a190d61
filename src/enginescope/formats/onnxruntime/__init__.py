"""ONNX Runtime's profiles and logs."""
