"""Requests to an Open Inference Protocol endpoint over real sockets: HTTP and gRPC."""

import subprocess
import sys

import numpy as np
import pytest

from enginescope.backends.base import Feeds, InputSpec
from enginescope.backends.oip import connection, grpc_connection
from enginescope.backends.oip.backend import EndpointSession, OipBackend
from enginescope.backends.oip.grpc_connection import message_class
from enginescope.backends.registry import parse_backend
from enginescope.core import errors
from enginescope.core.errors import BackendError, UnsupportedError
from enginescope.records.run.job import BackendSpec, Job, Subject
from enginescope.records.tensor import DataType
from tests.fakes.oip_grpc_server import oip_grpc_server
from tests.fakes.oip_server import oip_server

X = np.arange(8, dtype=np.float32).reshape(2, 4)
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


def job(address: str, **options: str) -> Job:
    backend = BackendSpec(name="oip", options=options)
    return Job(subject=Subject(name=address, kind="endpoint"), backend=backend)


def asked(address: str, x: np.ndarray = X, **options: str) -> EndpointSession:
    """Return a session that has sent one request."""
    session = EndpointSession(job(address, **options))
    try:
        session.bind(Feeds(arrays={"x": x}, batch=2))
        session.step()
        session.settle()
    except BaseException:
        session.close()
        raise
    return session


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("datatype", ["FP32", "INT64"])
def test_inputs_arrive_as_they_were_fed(binary, datatype) -> None:
    with oip_server(binary=binary, datatype=datatype) as server:
        x = X.astype(np.float32 if datatype == "FP32" else np.int64)
        session = asked(server.model, x)
        assert server.inferences[0].tolist() == x.tolist()
        (sent,), (received,) = session.tensors()
        assert (sent.name, sent.shape) == ("x", (2, 4))
        assert (received.name, received.shape, received.dtype.value) == ("y", (2, 4), datatype)
        (notice,) = session.notices()
        assert notice.evidence == {
            "protocol": "HTTP",
            "encoding": "binary" if binary else "json",
            "platform": "test_doubling",
        }
        session.close()


def test_a_session_keeps_its_format_its_connection_and_its_open_dimensions() -> None:
    with oip_server(binary=True) as server:
        session = asked(server.model, format="json")
        assert session.notices()[0].evidence["encoding"] == "json"
        (spec,) = session.input_specs
        assert (spec.shape, spec.dtype, spec.type_text) == ((None, 4), DataType.FP32, "FP32")
        session.recorder().run(5)
        assert len(server.inferences) == 6
        assert len(server.connections) == 1
        session.close()


def test_an_error_names_the_server_s_reason_or_the_address() -> None:
    refusal = pytest.raises(UnsupportedError, match="input x: FP16 cannot be sent")
    with oip_server(binary=False, datatype="FP16") as server, refusal:
        asked(server.model, X.astype(np.float16))
    with oip_server(failing=range(1, 2)) as server:
        address = server.model
        with pytest.raises(BackendError, match="HTTP 503: the model is busy"):
            asked(address)
        with pytest.raises(BackendError, match="HTTP 404: no such model"):
            EndpointSession(job(f"{address}d"))
        with pytest.raises(BackendError, match="inputs are not the protocol's"):
            EndpointSession(job(address.rpartition("/models")[0]))
    with pytest.raises(BackendError, match=r"endpoint http://127\.0\.0\.1:\d+/v2/models/double"):
        EndpointSession(job(address))


@pytest.mark.parametrize(
    ("body", "length"), [(b"{}", None), (b"[]", None), (b"<html>", None), (b'{"outputs":[]}', "99")]
)
def test_an_answer_that_is_not_the_protocol_s_is_refused(body, length) -> None:
    headers = {} if length is None else {"Inference-Header-Content-Length": length}
    with pytest.raises(BackendError):
        connection.output_tensors(body, headers)


def test_texts_are_sent_with_their_lengths_and_reasons_as_they_are() -> None:
    spec = InputSpec(name="t", dtype=DataType.STRING, shape=(2,), type_text="BYTES")
    feeds = Feeds(arrays={"t": np.array(["a", "äb"], dtype=object)}, batch=1)
    message = connection.encoded((spec,), feeds, binary=True)
    head = int(message.headers["Inference-Header-Content-Length"])
    assert message.body[head:] == b"\x01\x00\x00\x00a\x03\x00\x00\x00\xc3\xa4b"
    assert connection.reason_in(b"overloaded\n") == "overloaded"
    assert connection.reason_in(b"") == "no reason given"


def test_options_are_checked() -> None:
    with pytest.raises(errors.UsageError, match="oip has no option 'grpc'"):
        parse_backend("oip?grpc=1")
    with pytest.raises(errors.UsageError, match="oip has no format 'jsn'"):
        parse_backend("oip?format=jsn")
    with pytest.raises(errors.UsageError, match="the server decides"):
        parse_backend("oip:fp16")
    assert OipBackend().availability().usable


def test_a_request_has_the_bytes_of_the_published_client() -> None:
    spec = InputSpec(name="x", dtype=DataType.FP32, shape=(None, 4), type_text="FP32")
    feeds = Feeds(arrays={"x": X[:1]}, batch=1)
    assert grpc_connection.request_bytes((spec,), feeds, "double", "2").hex() == REQUEST


def test_metadata_and_answers_of_the_published_messages_are_read() -> None:
    response = message_class("ModelMetadataResponse").FromString(bytes.fromhex(METADATA))
    document = grpc_connection.described(response)
    assert document["platform"] == "onnxruntime_onnx"
    (spec,) = connection.input_specs(document)
    assert (spec.name, spec.shape, spec.dtype) == ("x", (None, 4), DataType.FP32)
    (tensor,) = grpc_connection.output_tensors(bytes.fromhex(ANSWER))
    assert (tensor.name, tensor.shape, tensor.dtype) == ("y", (1, 4), DataType.FP32)
    # an answer without all values is refused
    answer = message_class("ModelInferResponse")(raw_output_contents=[b"", b""])
    answer.outputs.add(name="y", datatype="FP32", shape=[1])
    with pytest.raises(BackendError, match="declares 1 outputs and has the values of 2"):
        grpc_connection.output_tensors(answer.SerializeToString())
    with pytest.raises(BackendError, match="the endpoint's answer"):
        grpc_connection.output_tensors(b"<html>")


def test_inputs_arrive_over_grpc_as_they_were_fed() -> None:
    with oip_grpc_server() as server:
        session = asked(server.model)
        session.recorder().run(5)
        assert [values.tolist() for values in server.inferences] == [X.tolist()] * 6
        assert len(server.connections) == 1
        (sent,), (received,) = session.tensors()
        assert (sent.name, sent.shape) == ("x", (2, 4))
        assert (received.name, received.shape, received.dtype) == ("y", (2, 4), DataType.FP32)
        (notice,) = session.notices()
        assert "gRPC with binary tensors" in notice.message
        told = {"protocol": "gRPC", "encoding": "binary", "platform": "test_doubling"}
        assert notice.evidence == told
        second = asked(f"{server.model}/versions/3")
        assert len(server.connections) == 2  # each session has its own
        assert server.versions[-1] == "3"
        session.close()
        second.close()


@pytest.mark.parametrize(("unready", "named"), [("server", "the server"), ("model", "double")])
def test_what_is_not_ready_is_named(unready, named) -> None:
    refusal = pytest.raises(BackendError, match=f"{named} is not ready")
    with oip_grpc_server(unready=unready) as server, refusal as refused:
        EndpointSession(job(server.model))
    assert "wait" in (refused.value.hint or "")


def test_what_a_server_refuses_or_does_not_offer_is_named(monkeypatch) -> None:
    with oip_grpc_server() as server:
        address = server.model
        wrong = r"no such model \(gRPC NOT_FOUND: no model doubled\)"
        with pytest.raises(BackendError, match=wrong):
            EndpointSession(job(f"{address}d"))
        wrong = r"INVALID_ARGUMENT: x: expected \[-1,4\]"
        with pytest.raises(BackendError, match=wrong) as refused:
            asked(address, X.reshape(4, 2))
        assert "shapes" in (refused.value.hint or "")
        session = asked(address)
        server.may_answer.clear()
        monkeypatch.setattr(grpc_connection, "TIMEOUT_S", 0.1)
        with pytest.raises(BackendError, match="no answer within"):
            session.step()
        session.close()
        monkeypatch.undo()
        monkeypatch.setattr(grpc_connection, "SERVICE", "/other.Service/")
        with pytest.raises(BackendError, match="does not offer the Open Inference Protocol"):
            EndpointSession(job(address))
    with pytest.raises(BackendError, match=r"grpc://127.0.0.1:\d+/\S+: the server cannot be"):
        EndpointSession(job(address))


def test_json_tensors_and_a_missing_package_are_refused(monkeypatch) -> None:
    with pytest.raises(UnsupportedError, match="binary tensors only"):
        EndpointSession(job("grpc://localhost:1/v2/models/a", format="json"))
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(errors.MissingDependencyError) as refused:
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
        asked(server.model).close()
        assert len(server.inferences) == 1
