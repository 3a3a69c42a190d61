"""Names of the backends that stand in where nobody names one."""

#: ONNX Runtime on the CPU runs every model, and its FP32 outputs serve as a reference.
CPU_BACKEND = "ort-cpu"
#: TensorRT runs engines.
ENGINE_BACKEND = "trt"
