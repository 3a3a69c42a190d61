"""A field's declaration: its bounds, its choices, and the Python function that it gives."""

import inspect
from collections.abc import Sequence
from typing import Annotated, Literal

import pytest

from enginescope.core.errors import UsageError
from enginescope.services.declared import EXISTING_FILE, File, Param, declared, python_function
from enginescope.services.measurement.jobs import ModelRequest
from enginescope.services.measurement.observer import MeasurementObserver


class Request(ModelRequest, frozen=True, kw_only=True):
    """A request with an option of each kind."""

    count: Annotated[int, Param("Number of things.", least=3, most=26)] = 10
    gain_pct: Annotated[float, Param("Gain.", above=0, most=100)] = 5.0
    error: Annotated[float | None, Param("Error.", above=0, usual="none")] = None
    sizes: Annotated[int | Sequence[int], Param("Sizes.", least=1)] = ()
    kind: Annotated[Literal["a", "b"], Param("Kind.")] = "a"
    file: Annotated[File | None, Param("A file.", metavar=EXISTING_FILE)] = None


def _run(request: Request, observer: MeasurementObserver) -> Request:
    """Return the request.

    Returns:
        The request.

    Raises:
        UsageError: A field is not valid.
    """
    assert type(observer) is MeasurementObserver
    return request


function = python_function("function", Request, _run)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"count": 2}, "`count` 2: it is not between 3 and 26"),
        ({"count": 27}, "`count` 27: it is not between 3 and 26"),
        ({"count": "3"}, "`count` '3': it is not between 3 and 26"),
        ({"workload": None}, "`workload` None"),
        ({"gain_pct": 0}, "`gain_pct` 0: it is not above 0 and at most 100"),
        ({"gain_pct": float("nan")}, "`gain_pct` nan: it is not above 0 and at most 100"),
        ({"error": float("inf")}, "`error` inf: it is not above 0"),
        ({"error": 0.0}, "`error` 0: it is not above 0"),
        ({"sizes": 0}, "`sizes` 0: it is not at least 1"),
        ({"sizes": (1, 0)}, "`sizes` 0: it is not at least 1"),
        ({"sizes": range(2)}, "`sizes` 0: it is not at least 1"),
        ({"kind": "c"}, "`kind` 'c'"),
        ({"file": "absent.txt"}, "`file` absent.txt: there is no such file"),
    ],
)
def test_a_value_that_its_declaration_does_not_allow_is_refused(fields, message) -> None:
    with pytest.raises(UsageError) as error:
        function("net.onnx", **fields)
    assert str(error.value) == message


def test_bounds_are_allowed_and_a_field_that_is_not_declared_is_no_parameter(tmp_path) -> None:
    file = tmp_path / "file.txt"
    file.touch()
    for fields in ({"count": 3}, {"count": 26}, {"gain_pct": 100}, {"sizes": 1}, {"file": file}):
        asked = function("net.onnx", **fields)
        assert all(getattr(asked, name) == value for name, value in fields.items())
    with pytest.raises(TypeError, match="unexpected keyword argument 'command'"):
        function("net.onnx", command="x")
    assert function("net.onnx").command


def test_the_signature_and_the_documentation_are_those_of_the_fields() -> None:
    signature = inspect.signature(function)
    model, *others = signature.parameters.values()
    assert (model.name, model.kind) == ("model", model.POSITIONAL_OR_KEYWORD)
    assert [one.name for one in others[:6]] == [*Request.__annotations__]
    assert {one.kind for one in others} == {model.KEYWORD_ONLY}
    assert "command" not in signature.parameters
    assert str(signature.parameters["file"]) == "file: 'str | PathLike[str] | None' = None"
    assert repr(signature.parameters["workload"].default) == "Workload()"
    assert signature.return_annotation is Request
    lines = (function.__doc__ or "").splitlines()
    assert "    count: Number of things (between 3 and 26)." in lines
    assert "    error: Error (above 0). By default none." in lines
    assert lines.index("Args:") < lines.index("Returns:") < lines.index("Raises:")
    assert lines[0] == "Return the request."


def test_a_flag_is_the_name_without_its_unit() -> None:
    flags = {one.name: one.flag for one in declared(Request)}
    known = {"count": "--count", "gain_pct": "--gain", "max_time_s": "--max-time"}
    assert flags.items() >= known.items()
