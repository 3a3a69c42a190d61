"""A server of the Open Inference Protocol on the loopback: doubles its input.

Written from the protocol alone, so that it agrees with the client only where both follow it.
"""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

MODEL = "/v2/models/double"
LENGTH = "Inference-Header-Content-Length"
_TYPES = {"FP32": np.dtype("<f4"), "INT64": np.dtype("<i8"), "FP16": np.dtype("<f2")}


class OipServer(ThreadingHTTPServer):
    """Attributes say what it does and what it has seen.

    Args:
        binary: Whether it has the extension for binary tensors.
        datatype: Of its input and output.
        stall: Number of an inference, from 1, and the seconds that it takes longer.
        failing: Numbers of inferences that are answered with HTTP 503.
    """

    daemon_threads = True

    def __init__(
        self,
        *,
        binary: bool = True,
        datatype: str = "FP32",
        stall: tuple[int, float] = (0, 0.0),
        failing: range = range(0),
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.binary, self.datatype, self.stall, self.failing = binary, datatype, stall, failing
        self.inferences: list[np.ndarray[Any, Any]] = []
        self.connections: set[tuple[str, int]] = set()
        self.lock = threading.Lock()

    @property
    def model(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}{MODEL}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: OipServer

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        tensor = {"datatype": self.server.datatype, "shape": [-1, 4]}
        documents = {
            "/v2": {
                "name": "test",
                "extensions": ["binary_tensor_data"] if self.server.binary else [],
            },
            MODEL: {
                "name": "double",
                "platform": "test_doubling",
                "inputs": [{"name": "x", **tensor}],
                "outputs": [{"name": "y", **tensor}],
            },
        }
        found = documents.get(self.path)
        self._send(200 if found else 404, json.dumps(found or {"error": "no such model"}).encode())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        length = int(self.headers.get(LENGTH, len(body)))
        request = json.loads(body[:length])
        (tensor,) = request["inputs"]
        kind = _TYPES[tensor["datatype"]]
        if "data" in tensor:
            values = np.array(tensor["data"], kind)
        else:
            assert len(body) - length == tensor["parameters"]["binary_data_size"]
            values = np.frombuffer(body[length:], kind)
        with self.server.lock:
            self.server.inferences.append(values.reshape(tensor["shape"]))
            self.server.connections.add(self.client_address)
            number = len(self.server.inferences)
        if number == self.server.stall[0]:
            time.sleep(self.server.stall[1])
        if number in self.server.failing:
            self._send(503, json.dumps({"error": "the model is busy"}).encode())
            return
        self._answer(tensor, 2 * values, request)

    def _answer(self, tensor: Any, values: Any, request: Any) -> None:
        output = {"name": "y", "datatype": tensor["datatype"], "shape": tensor["shape"]}
        if not request.get("parameters", {}).get("binary_data_output"):
            document = {"model_name": "double", "outputs": [{**output, "data": values.tolist()}]}
            self._send(200, json.dumps(document).encode())
            return
        data = values.tobytes()
        output["parameters"] = {"binary_data_size": len(data)}
        head = json.dumps({"model_name": "double", "outputs": [output]}).encode()
        self._send(200, head + data, {LENGTH: str(len(head))})

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def oip_server(**settings: Any) -> Iterator[OipServer]:
    """Serve on a free port of the loopback for the time of a block."""
    with OipServer(**settings) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
