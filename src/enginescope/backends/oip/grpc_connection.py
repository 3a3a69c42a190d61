"""A connection to an endpoint over gRPC.

The protobuf library builds the messages at run time from the table below. The fields are those of
``open_inference_grpc.proto`` that a client of plain inference reads or writes; protobuf skips
others. Code that protoc makes would be tied to versions of protobuf, and so is Triton's client
(below 7). The pool of messages is our own, because a program may also load that client, and two
descriptions of one message in the common pool are an error.
"""

import ssl
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from enginescope.backends.base import Feeds, InputSpec
from enginescope.backends.oip.connection import MODELS, REACH, TIMEOUT_S, declared, header, raw
from enginescope.core.errors import BackendError, UnsupportedError
from enginescope.core.optional import require
from enginescope.records.tensor import Tensor

#: In front of the name of a call.
SERVICE = "/inference.GRPCInferenceService/"
_PACKAGE = "inference"
#: Message -> its fields: number, name, type; ``*`` repeats a field, a capital letter is a message.
_MESSAGES = {
    "ServerReadyRequest": (),
    "ServerReadyResponse": ((1, "ready", "bool"),),
    "ModelReadyRequest": ((1, "name", "string"), (2, "version", "string")),
    "ModelReadyResponse": ((1, "ready", "bool"),),
    "ModelMetadataRequest": ((1, "name", "string"), (2, "version", "string")),
    # three messages of the protocol with the same fields
    "Tensor": ((1, "name", "string"), (2, "datatype", "string"), (3, "shape", "int64*")),
    "ModelMetadataResponse": (
        (3, "platform", "string"),
        (4, "inputs", "Tensor*"),
        (5, "outputs", "Tensor*"),
    ),
    "ModelInferRequest": (
        (1, "model_name", "string"),
        (2, "model_version", "string"),
        (5, "inputs", "Tensor*"),
        (7, "raw_input_contents", "bytes*"),
    ),
    "ModelInferResponse": ((5, "outputs", "Tensor*"), (6, "raw_output_contents", "bytes*")),
}


@cache
def message_class(name: str) -> Any:
    """Return the class of a message."""
    factory = require(
        "google.protobuf.message_factory", purpose="gRPC", install="enginescope[grpc]"
    )
    return factory.GetMessageClass(_pool().FindMessageTypeByName(f"{_PACKAGE}.{name}"))


@cache
def _pool() -> Any:
    from google.protobuf import descriptor_pb2, descriptor_pool

    file = descriptor_pb2.FileDescriptorProto(
        name="enginescope/open_inference.proto", package=_PACKAGE, syntax="proto3"
    )
    kinds = descriptor_pb2.FieldDescriptorProto
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, field, text in fields:
            kind = text.rstrip("*")
            is_message = kind[0].isupper()
            message.field.add(
                name=field,
                number=number,
                label=kinds.LABEL_REPEATED if text.endswith("*") else kinds.LABEL_OPTIONAL,
                type=kinds.TYPE_MESSAGE if is_message else kinds.Type.Value(f"TYPE_{kind.upper()}"),
                type_name=f".{_PACKAGE}.{kind}" if is_message else None,
            )
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return pool


def request_bytes(specs: tuple[InputSpec, ...], feeds: Feeds, model: str, version: str) -> bytes:
    """Return an inference request with raw tensors, which every server of the protocol takes."""
    request = message_class("ModelInferRequest")(model_name=model, model_version=version)
    for spec in specs:
        request.inputs.add(**header(spec, feeds))
        request.raw_input_contents.append(raw(feeds.arrays[spec.name], spec.dtype))
    encoded: bytes = request.SerializeToString()
    return encoded


def described(metadata: Any) -> dict[str, Any]:
    """Return a model's metadata with the keys of the protocol's JSON."""
    return {
        "platform": metadata.platform,
        "inputs": _entries(metadata.inputs),
        "outputs": _entries(metadata.outputs),
    }


def _entries(tensors: Any) -> list[dict[str, Any]]:
    return [
        {"name": each.name, "datatype": each.datatype, "shape": list(each.shape)}
        for each in tensors
    ]


def output_tensors(answer: bytes) -> tuple[Tensor, ...]:
    """Return the outputs of an answer, without their values."""
    from google.protobuf.message import DecodeError

    try:
        response = message_class("ModelInferResponse").FromString(answer)
    except DecodeError as error:
        raise BackendError("the endpoint's answer", why=str(error)) from error
    count = len(response.raw_output_contents)
    if count not in (0, len(response.outputs)):
        why = f"it declares {len(response.outputs)} outputs and has the values of {count}"
        raise BackendError("the endpoint's answer", why=why)
    return tuple(
        tensor for tensor, _ in declared({"outputs": _entries(response.outputs)}, "outputs")
    )


_TLS = "grpcs"
#: Between a model's name and its version in an address.
_VERSIONS = "/versions/"
_OPTIONS = (
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    # else all workers of a load test share one connection
    ("grpc.use_local_subchannel_pool", 1),
)
#: Code of a failed call -> what it means, and the next step.
_REASONS: dict[str, tuple[str, str | None]] = {
    "DEADLINE_EXCEEDED": (f"no answer within {TIMEOUT_S:g} s", None),
    "INVALID_ARGUMENT": (
        "the server refuses the request",
        "set the shapes of the inputs to those that the server expects",
    ),
    "NOT_FOUND": ("the server has no such model", "grpc://localhost:8001/v2/models/NAME"),
    "UNAVAILABLE": ("the server cannot be reached or is not ready", REACH),
    "UNIMPLEMENTED": ("the server does not offer the Open Inference Protocol over gRPC", None),
}


def is_grpc(url: str) -> bool:
    """Whether an address is one of gRPC."""
    return urlsplit(url).scheme in ("grpc", _TLS)


class GrpcConnection:
    """A model behind gRPC.

    Args:
        url: ``grpc://HOST:PORT/v2/models/NAME``; ``grpcs://`` with TLS.
        form: ``"binary"`` or ``"auto"``.
    """

    protocol = "gRPC"
    encoding = "binary"

    def __init__(self, url: str, form: str) -> None:
        if form == "json":
            raise UnsupportedError("format=json over gRPC", why="gRPC has binary tensors only")
        self._grpc = require("grpc", purpose="load over gRPC", install="enginescope[grpc]")
        self._url = url
        parts = urlsplit(url)
        self._model, _, self._version = (
            unquote(part) for part in parts.path.rpartition(MODELS)[2].partition(_VERSIONS)
        )
        self._channel = self._opened(parts.scheme, parts.netloc)
        # Requests and answers stay bytes: encoded once, and read after the test.
        self._infer = self._channel.unary_unary(f"{SERVICE}ModelInfer")
        self._request = b""
        self._answer: bytes | None = None
        try:
            self.metadata = self._described()
        except BaseException:  # also on Ctrl-C: the channel has threads of its own
            self.close()
            raise

    def _opened(self, scheme: str, address: str) -> Any:
        if scheme != _TLS:
            return self._grpc.insecure_channel(address, options=_OPTIONS)
        # HTTP trusts the machine's certificates; without a file of them gRPC uses its own
        file = ssl.get_default_verify_paths().cafile
        credentials = self._grpc.ssl_channel_credentials(Path(file).read_bytes() if file else None)
        return self._grpc.secure_channel(address, credentials, options=_OPTIONS)

    def _described(self) -> dict[str, Any]:
        if not self._ask("ServerReady").ready:
            raise self._not_ready("the server")
        named = {"name": self._model, "version": self._version}
        metadata = self._ask("ModelMetadata", **named)
        # after the metadata: Triton says of a model that it does not have that it is not ready
        if not self._ask("ModelReady", **named).ready:
            raise self._not_ready(f"the model {self._model}")
        return described(metadata)

    def _not_ready(self, subject: str) -> BackendError:
        hint = "wait until the server has loaded its models"
        return BackendError(f"endpoint {self._url}", why=f"{subject} is not ready", hint=hint)

    def _ask(self, call: str, **fields: str) -> Any:
        method = self._channel.unary_unary(
            f"{SERVICE}{call}", response_deserializer=message_class(f"{call}Response").FromString
        )
        return self._called(method, message_class(f"{call}Request")(**fields).SerializeToString())

    def _called(self, method: Any, request: bytes) -> Any:
        try:
            return method(request, timeout=TIMEOUT_S)
        except self._grpc.RpcError as error:
            code, details = error.code().name, " ".join((error.details() or "").split())
            reason, hint = _REASONS.get(code, ("the call failed", None))
            why = f"{reason} (gRPC {code}{f': {details}' if details else ''})"
            raise BackendError(f"endpoint {self._url}", why=why, hint=hint) from error

    def bind(self, specs: tuple[InputSpec, ...], feeds: Feeds) -> None:
        self._request = request_bytes(specs, feeds, self._model, self._version)

    def send(self) -> None:
        self._answer = self._called(self._infer, self._request)

    def outputs(self) -> tuple[Tensor, ...]:
        return () if self._answer is None else output_tensors(self._answer)

    def close(self) -> None:
        self._channel.close()
