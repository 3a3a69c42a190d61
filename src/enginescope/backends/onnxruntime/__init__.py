"""ONNX Runtime: any ONNX model, on any execution provider that this build really has."""

import os

# From 1.31 on, importing it starts an uploader, which shares the processor with what is timed, and
# writes an identifier into the user's home: `setdefault`, so that who wants that has it.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
