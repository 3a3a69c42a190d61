import pytest

from enginescope.compat.trtexec.settings import option_text, parse_files, parse_shapes
from enginescope.core.errors import UsageError
from enginescope.formats.trtexec.trtexec_flags import read_shapes
from enginescope.records.run.job import InputShape
from tests.compat.trtexec.runs import settings

X = InputShape(name="x", dims=(1, 3))


def of(text: str) -> tuple[InputShape, ...]:
    return parse_shapes("--shapes", text)


def test_the_last_colon_splits_and_quotes_are_taken_off() -> None:
    assert of("x:1x3") == (X,)
    assert of("'Input:0':1x3,a:b:2") == (
        InputShape(name="Input:0", dims=(1, 3)),
        InputShape(name="a:b", dims=(2,)),
    )
    assert of("s:scalar,t:") == (InputShape(name="s", dims=()), InputShape(name="t", dims=()))
    assert of("") == ()


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (("x", ":1x3", "x:1x", "x:axb", "x:-1x3", "x:1.5", "x:99999999999"), "is not NAME:DIMS"),
        (("*:1x3", "'a,b':1", "'a;b':1"), "--shapes: "),  # names that cannot be passed on
    ],
)
def test_what_is_no_shape_is_refused(texts, words) -> None:
    for text in texts:
        with pytest.raises(UsageError, match=words):
            of(text)


def test_files_are_split_outside_quotes() -> None:
    found = parse_files("--loadInputs", "x:a.raw,'Input:0':/b:c.raw")
    assert found == (("x", "a.raw"), ("Input:0", "/b:c.raw"))
    for text in ("x", "x:", ":a.raw"):
        with pytest.raises(UsageError, match="is not NAME:FILE"):
            parse_files("--loadInputs", text)


def test_only_opt_fills_in_min_and_max() -> None:
    found = settings("--optShapes=x:2x3")
    (profile,) = found.profiles
    assert profile.minimum == profile.optimum == profile.maximum
    assert found.warnings == (
        "optShapes is being broadcasted to minShapes for tensor x",
        "optShapes is being broadcasted to maxShapes for tensor x",
    )


def test_a_missing_opt_is_max_and_a_missing_max_is_opt() -> None:
    (profile,) = settings("--minShapes=x:1", "--maxShapes=x:8").profiles
    ends = (profile.minimum, profile.optimum, profile.maximum)
    assert [one[0].dims for one in ends] == [(1,), (8,), (8,)]
    (profile,) = settings("--minShapes=x:1", "--optShapes=x:4").profiles
    assert profile.maximum[0].dims == (4,)
    (profile,) = settings("--minShapes=x:1").profiles
    assert profile.optimum[0].dims == profile.maximum[0].dims == (1,)


def test_shapes_belong_to_the_profile_before_them() -> None:
    found = settings("--optShapes=x:1", "--profile=1", "--optShapes=x:8", "--useProfile=1")
    assert [one.optimum[0].dims for one in found.profiles] == [(1,), (8,)]
    assert found.options["opt_shapes"] == "x:1;x:8"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--profile=1", "--optShapes=x:1"), "without a gap"),
        (("--profile=0",), "no shapes follow it"),
        (("--optShapes=x:1", "--optShapes=x:2"), "given twice for profile 0"),
        (("--optShapes=x:1", "--minShapes=y:1"), "do not name the same inputs: x, y"),
    ],
)
def test_profiles_that_cannot_be(flags, message) -> None:
    with pytest.raises(UsageError, match=message):
        settings(*flags)


def test_the_backend_reads_what_is_passed_on() -> None:
    shapes = of("'a:b':1x3,s:scalar")
    assert read_shapes(option_text(shapes)) == (shapes,)
