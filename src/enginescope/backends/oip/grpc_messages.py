"""Messages over gRPC, built by the protobuf library at run time from the table below.

The fields are those of ``open_inference_grpc.proto`` that a client of plain inference reads or
writes; protobuf skips others. Code that protoc makes would be tied to versions of protobuf, and so
is Triton's client (below 7). The pool of messages is our own, because a program may also load that
client, and two descriptions of one message in the common pool are an error.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from enginescope.backends.base import Feeds, InputSpec
from enginescope.backends.oip.tensors import declared, header, raw
from enginescope.core.errors import BackendError
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
    """Return the class of a message.

    Raises:
        MissingDependencyError: protobuf is not installed.
    """
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
    """Return an inference request with raw tensors, which every server of the protocol takes.

    Raises:
        UnsupportedError: The protocol has no such type.
    """
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
    """Return the outputs of an answer, without their values.

    Raises:
        BackendError: It is not an answer of the protocol.
    """
    from google.protobuf.message import DecodeError

    try:
        response = message_class("ModelInferResponse").FromString(answer)
    except DecodeError as error:
        raise BackendError("the endpoint's answer", why=str(error)) from error
    count = len(response.raw_output_contents)
    if count not in (0, len(response.outputs)):
        raise BackendError(
            "the endpoint's answer",
            why=f"it declares {len(response.outputs)} outputs and has the values of {count}",
        )
    return tuple(
        tensor for tensor, _ in declared({"outputs": _entries(response.outputs)}, "outputs")
    )
