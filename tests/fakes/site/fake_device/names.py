"""Enumerations, handles and constants of the CUDA runtime, with their recorded values."""
# ruff: noqa: N816  # CUDA's names

import recorded_symbols
from fake_device.errors import fast_enum
from fake_device.handles import handle_class

CONSTANTS: dict[str, int] = recorded_symbols.read(recorded_symbols.CUDA)["constants"]
cudaMemcpyKind = fast_enum("cudaMemcpyKind")
cudaStreamCaptureMode = fast_enum("cudaStreamCaptureMode")
cudaDeviceAttr = fast_enum("cudaDeviceAttr")
cudaStream_t = handle_class("cudaStream_t", "CUstream")
cudaEvent_t = handle_class("cudaEvent_t", "CUevent")
cudaGraph_t = handle_class("cudaGraph_t", "CUgraph")
cudaGraphExec_t = handle_class("cudaGraphExec_t", "CUgraphExec")
