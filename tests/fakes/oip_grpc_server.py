"""A server of the Open Inference Protocol over gRPC on the loopback: doubles its input."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import grpc
import numpy as np

from enginescope.backends.oip.grpc_connection import message_class


class OipGrpcServer:
    """Attributes say what it does and what it has seen.

    Args:
        stall: Number of an inference, from 1, and the seconds that it takes longer.
        failing: Numbers of inferences that are answered with ``UNAVAILABLE``.
        unready: ``"server"`` or ``"model"``: which says that it is not ready.
        certificate: Key and certificate in PEM, for TLS.
    """

    def __init__(
        self,
        *,
        stall: tuple[int, float] = (0, 0.0),
        failing: range = range(0),
        unready: str = "",
        certificate: tuple[bytes, bytes] | None = None,
    ) -> None:
        self.stall, self.failing = stall, failing
        self.inferences: list[np.ndarray[Any, Any]] = []
        self.versions: list[str] = []
        self.connections: set[str] = set()
        self.lock = threading.Lock()
        #: While it is not set, inferences are not answered.
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.server = grpc.server(ThreadPoolExecutor(8))
        ready = {"ServerReady": unready != "server", "ModelReady": unready != "model"}
        methods = {
            **{call: partial(self._ready, call, is_ready) for call, is_ready in ready.items()},
            "ModelMetadata": self._metadata,
            "ModelInfer": self._infer,
        }
        handlers = {
            call: grpc.unary_unary_rpc_method_handler(
                method,
                request_deserializer=message_class(f"{call}Request").FromString,
                response_serializer=message_class(f"{call}Response").SerializeToString,
            )
            for call, method in methods.items()
        }
        self.server.add_generic_rpc_handlers(
            [grpc.method_handlers_generic_handler("inference.GRPCInferenceService", handlers)]
        )
        address = "127.0.0.1:0"
        if certificate is None:
            port = self.server.add_insecure_port(address)
        else:
            port = self.server.add_secure_port(address, grpc.ssl_server_credentials([certificate]))
        scheme = "grpc" if certificate is None else "grpcs"
        self.model = f"{scheme}://127.0.0.1:{port}/v2/models/double"

    def _ready(self, call: str, is_ready: bool, _request: Any, _context: Any) -> Any:
        return message_class(f"{call}Response")(ready=is_ready)

    def _metadata(self, request: Any, context: Any) -> Any:
        if request.name != "double":
            context.abort(grpc.StatusCode.NOT_FOUND, f"no model {request.name}")
        response = message_class("ModelMetadataResponse")(platform="test_doubling")
        response.inputs.add(name="x", datatype="FP32", shape=[-1, 4])
        response.outputs.add(name="y", datatype="FP32", shape=[-1, 4])
        return response

    def _infer(self, request: Any, context: Any) -> Any:
        (tensor,), (data,) = request.inputs, request.raw_input_contents
        if list(tensor.shape)[1:] != [4]:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "x: expected [-1,4]")
        values = np.frombuffer(data, "<f4").reshape(tensor.shape)
        with self.lock:
            self.inferences.append(values)
            self.versions.append(request.model_version)
            self.connections.add(context.peer())
            number = len(self.inferences)
        self.may_answer.wait()
        if number == self.stall[0]:
            time.sleep(self.stall[1])
        if number in self.failing:
            context.abort(grpc.StatusCode.UNAVAILABLE, "the model is busy")
        response = message_class("ModelInferResponse")()
        response.outputs.add(name="y", datatype="FP32", shape=tensor.shape)
        response.raw_output_contents.append((2 * values).tobytes())
        return response


@contextmanager
def oip_grpc_server(**settings: Any) -> Iterator[OipGrpcServer]:
    """Serve on a free port of the loopback for the time of a block."""
    server = OipGrpcServer(**settings)
    server.server.start()
    try:
        yield server
    finally:
        server.may_answer.set()
        server.server.stop(None).wait()
