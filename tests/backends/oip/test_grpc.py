"""The Open Inference Protocol over gRPC: the published messages byte by byte, and real sockets."""

import subprocess
import sys

import numpy as np
import pytest

from enginescope.backends.base import Feeds, InputSpec
from enginescope.backends.oip import grpc_connection
from enginescope.backends.oip.backend import EndpointSession
from enginescope.backends.oip.connection import input_specs
from enginescope.backends.oip.grpc_connection import (
    described,
    message_class,
    output_tensors,
    request_bytes,
)
from enginescope.core.errors import BackendError, MissingDependencyError, UnsupportedError
from enginescope.records.tensor import DataType
from tests.backends.oip.test_session import X, job
from tests.fakes.oip_grpc_server import OipGrpcServer, oip_grpc_server

# Written by code that protoc made from the published open_inference_grpc.proto.
REQUEST = "0a06646f75626c651201322a0d0a01781204465033321a0201043a10000000000000803f0000004000004040"
METADATA = (
    "0a06646f75626c651201311201321a106f6e6e7872756e74696d655f6f6e6e7822160a01781204465033321a0b"
    "ffffffffffffffffff01042a160a01791204465031361a0bffffffffffffffffff0102"
)
#: With an id, a parameter, and its values as a list of numbers.
ANSWER = (
    "0a06646f75626c651201321a013722070a016b120208012a210a01791204465033321a0201042a123210"
    "0000000000000040000080400000c040"
)


def asked(server: OipGrpcServer, x: np.ndarray = X, address: str = "") -> EndpointSession:
    """Return a session that has sent one request."""
    session = EndpointSession(job(address or server.model))
    try:
        session.bind(Feeds(arrays={"x": x}, batch=2))
        session.step()
        session.settle()
    except BaseException:
        session.close()
        raise
    return session


def test_a_request_has_the_bytes_of_the_published_client() -> None:
    spec = InputSpec(name="x", dtype=DataType.FP32, shape=(None, 4), type_text="FP32")
    feeds = Feeds(arrays={"x": X[:1]}, batch=1)
    assert request_bytes((spec,), feeds, "double", "2").hex() == REQUEST


def test_metadata_and_answers_of_the_published_messages_are_read() -> None:
    response = message_class("ModelMetadataResponse").FromString(bytes.fromhex(METADATA))
    document = described(response)
    assert document["platform"] == "onnxruntime_onnx"
    (spec,) = input_specs(document)
    assert (spec.name, spec.shape, spec.dtype) == ("x", (None, 4), DataType.FP32)
    (tensor,) = output_tensors(bytes.fromhex(ANSWER))
    assert (tensor.name, tensor.shape, tensor.dtype) == ("y", (1, 4), DataType.FP32)


def test_an_answer_without_all_values_is_refused() -> None:
    answer = message_class("ModelInferResponse")(raw_output_contents=[b"", b""])
    answer.outputs.add(name="y", datatype="FP32", shape=[1])
    with pytest.raises(BackendError, match="declares 1 outputs and has the values of 2"):
        output_tensors(answer.SerializeToString())
    with pytest.raises(BackendError, match="the endpoint's answer"):
        output_tensors(b"<html>")


def test_inputs_arrive_as_they_were_fed() -> None:
    with oip_grpc_server() as server:
        session = asked(server)
        session.recorder().run(5)
        assert [values.tolist() for values in server.inferences] == [X.tolist()] * 6
        assert len(server.connections) == 1
        (sent,), (received,) = session.tensors()
        assert (sent.name, sent.shape) == ("x", (2, 4))
        assert (received.name, received.shape, received.dtype) == ("y", (2, 4), DataType.FP32)
        (notice,) = session.notices()
        assert "gRPC with binary tensors" in notice.message
        assert notice.evidence == {
            "protocol": "gRPC",
            "encoding": "binary",
            "platform": "test_doubling",
        }
        second = asked(server, address=f"{server.model}/versions/3")
        assert len(server.connections) == 2  # each session has its own
        assert server.versions[-1] == "3"
        session.close()
        second.close()


def test_a_model_that_the_server_does_not_have_is_named() -> None:
    with (
        oip_grpc_server() as server,
        pytest.raises(BackendError, match=r"no such model \(gRPC NOT_FOUND: no model doubled\)"),
    ):
        EndpointSession(job(f"{server.model}d"))


@pytest.mark.parametrize(("unready", "named"), [("server", "the server"), ("model", "double")])
def test_what_is_not_ready_is_named(unready, named) -> None:
    with (
        oip_grpc_server(unready=unready) as server,
        pytest.raises(BackendError, match=f"{named} is not ready") as refused,
    ):
        EndpointSession(job(server.model))
    assert "wait" in (refused.value.hint or "")


def test_a_wrong_shape_is_the_server_s_to_refuse() -> None:
    with (
        oip_grpc_server() as server,
        pytest.raises(BackendError, match=r"INVALID_ARGUMENT: x: expected \[-1,4\]") as refused,
    ):
        asked(server, X.reshape(4, 2))
    assert "shapes" in (refused.value.hint or "")


def test_an_answer_that_does_not_come_in_time(monkeypatch) -> None:
    with oip_grpc_server() as server:
        session = asked(server)
        server.may_answer.clear()
        monkeypatch.setattr(grpc_connection, "TIMEOUT_S", 0.1)
        with pytest.raises(BackendError, match="no answer within"):
            session.step()
        session.close()


def test_a_server_that_is_not_there_is_named() -> None:
    with oip_grpc_server() as server:
        address = server.model
    with pytest.raises(BackendError, match=r"grpc://127.0.0.1:\d+/\S+: the server cannot be"):
        EndpointSession(job(address))


def test_a_server_of_something_else_is_named(monkeypatch) -> None:
    monkeypatch.setattr(grpc_connection, "SERVICE", "/other.Service/")
    with (
        oip_grpc_server() as server,
        pytest.raises(BackendError, match="does not offer the Open Inference Protocol"),
    ):
        EndpointSession(job(server.model))


def test_json_tensors_and_a_missing_package_are_refused(monkeypatch) -> None:
    with pytest.raises(UnsupportedError, match="binary tensors only"):
        EndpointSession(job("grpc://localhost:1/v2/models/a", format="json"))
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(MissingDependencyError) as refused:
        EndpointSession(job("grpc://localhost:1/v2/models/a"))
    assert refused.value.hint == "pip install 'enginescope[grpc]'"


def test_certificates_of_the_machine_are_trusted_and_no_others(tmp_path, monkeypatch) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt"),
            *("ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key)),
            *("-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    with oip_grpc_server(certificate=(key.read_bytes(), certificate.read_bytes())) as server:
        with pytest.raises(BackendError, match="UNAVAILABLE"):
            EndpointSession(job(server.model))
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        asked(server).close()
        assert len(server.inferences) == 1
