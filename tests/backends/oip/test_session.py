"""Requests to an Open Inference Protocol endpoint, over real sockets."""

import numpy as np
import pytest

from enginescope.backends.base import Feeds, InputSpec
from enginescope.backends.oip.backend import EndpointSession, OipBackend
from enginescope.backends.oip.connection import encoded, output_tensors, reason_in
from enginescope.backends.registry import parse_backend
from enginescope.core.errors import BackendError, UnsupportedError, UsageError
from enginescope.records.run.job import BackendSpec, Job, Subject
from enginescope.records.tensor import DataType
from tests.fakes.oip_server import OipServer, oip_server

X = np.arange(8, dtype=np.float32).reshape(2, 4)


def job(address: str, **options: str) -> Job:
    backend = BackendSpec(name="oip", options=options)
    return Job(subject=Subject(name=address, kind="endpoint"), backend=backend)


def asked(server: OipServer, x: np.ndarray = X, **options: str) -> EndpointSession:
    """Return a session that has sent one request."""
    session = EndpointSession(job(server.model, **options))
    session.bind(Feeds(arrays={"x": x}, batch=2))
    session.step()
    session.settle()
    return session


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("datatype", ["FP32", "INT64"])
def test_inputs_arrive_as_they_were_fed(binary, datatype) -> None:
    with oip_server(binary=binary, datatype=datatype) as server:
        x = X.astype(np.float32 if datatype == "FP32" else np.int64)
        session = asked(server, x)
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


def test_a_session_keeps_its_connection_and_its_open_dimensions() -> None:
    with oip_server() as server:
        session = asked(server)
        session.recorder().run(5)
        assert len(server.inferences) == 6
        assert len(server.connections) == 1
        session.close()
    with oip_server() as server:
        session = EndpointSession(job(server.model))
        (spec,) = session.input_specs
        assert (spec.shape, spec.dtype, spec.type_text) == ((None, 4), DataType.FP32, "FP32")
        session.close()


def test_the_format_can_be_chosen() -> None:
    with oip_server(binary=True) as server:
        session = asked(server, format="json")
        assert session.notices()[0].evidence["encoding"] == "json"
        session.close()


def test_half_precision_needs_the_binary_extension() -> None:
    with (
        oip_server(binary=False, datatype="FP16") as server,
        pytest.raises(UnsupportedError, match="input x: FP16 cannot be sent"),
    ):
        asked(server, X.astype(np.float16))


def test_an_error_names_the_server_s_reason() -> None:
    with (
        oip_server(failing=range(1, 2)) as server,
        pytest.raises(BackendError, match="HTTP 503: the model is busy"),
    ):
        asked(server)


def test_an_address_without_a_model_or_a_server_is_named() -> None:
    with oip_server() as server, pytest.raises(BackendError, match="HTTP 404: no such model"):
        EndpointSession(job(f"{server.model}d"))
    with oip_server() as server, pytest.raises(BackendError, match="inputs are not the protocol's"):
        EndpointSession(job(server.model.rpartition("/models")[0]))
    with oip_server() as server:
        address = server.model
    with pytest.raises(BackendError, match=r"endpoint http://127\.0\.0\.1:\d+/v2/models/double"):
        EndpointSession(job(address))


@pytest.mark.parametrize(
    ("body", "length"), [(b"{}", None), (b"[]", None), (b"<html>", None), (b'{"outputs":[]}', "99")]
)
def test_an_answer_that_is_not_the_protocol_s_is_refused(body, length) -> None:
    headers = {} if length is None else {"Inference-Header-Content-Length": length}
    with pytest.raises(BackendError):
        output_tensors(body, headers)


def test_texts_are_sent_with_their_lengths_and_reasons_as_they_are() -> None:
    spec = InputSpec(name="t", dtype=DataType.STRING, shape=(2,), type_text="BYTES")
    feeds = Feeds(arrays={"t": np.array(["a", "äb"], dtype=object)}, batch=1)
    message = encoded((spec,), feeds, binary=True)
    head = int(message.headers["Inference-Header-Content-Length"])
    assert message.body[head:] == b"\x01\x00\x00\x00a\x03\x00\x00\x00\xc3\xa4b"
    assert reason_in(b"overloaded\n") == "overloaded"
    assert reason_in(b"") == "no reason given"


def test_options_are_checked() -> None:
    with pytest.raises(UsageError, match="oip has no option 'grpc'"):
        parse_backend("oip?grpc=1")
    with pytest.raises(UsageError, match="oip has no format 'jsn'"):
        parse_backend("oip?format=jsn")
    with pytest.raises(UsageError, match="the server decides"):
        parse_backend("oip:fp16")
    assert OipBackend().availability().usable
