"""ONNX Runtime: any ONNX model, on any execution provider that this build really has."""
