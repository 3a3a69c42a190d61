import pytest

from enginescope.backends.profile_bounds import check_bounds, is_in_order
from enginescope.backends.registry import parse_backend
from enginescope.core.errors import UsageError
from enginescope.formats.trtexec.trtexec_flags import read_shapes
from enginescope.records.run.job import InputShape, Subject
from enginescope.runner.jobs import check_subject


def test_shapes_of_several_profiles() -> None:
    assert read_shapes("x:1x3,'a:b':8;x:scalar") == (
        (InputShape(name="x", dims=(1, 3)), InputShape(name="a:b", dims=(8,))),
        (InputShape(name="x", dims=()),),
    )
    for text in ("", "x", "x:", "x:1x", "x:1;", ":1", "x:-1"):
        with pytest.raises(ValueError, match="NAME:1x3x224x224"):
            read_shapes(text)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"min_shapes": "x:3x4", "opt_shapes": "x:2x4"},
            "min 3x4, opt 2x4 are not in ascending order",
        ),
        (
            {"min_shapes": "x:3x4", "max_shapes": "x:2x4"},
            "min 3x4, max 2x4 are not in ascending order",
        ),
        ({"opt_shapes": "x:2x4", "max_shapes": "x:2x4x1"}, "not in ascending order"),
        ({"opt_shapes": "x:1;x:4", "max_shapes": "x:1;x:3"}, "opt 4, max 3"),
        ({"min_shapes": "x:1;x:2", "opt_shapes": "x:2"}, "min_shapes 2, opt_shapes 1"),
    ],
)
@pytest.mark.parametrize("backend", ["trt", "trtexec"])
def test_bounds_that_contradict_each_other_are_no_specification(backend, options, words) -> None:
    with pytest.raises(UsageError, match=words):
        check_bounds(options)
    text = "&".join(f"{key}={value}" for key, value in options.items())
    with pytest.raises(UsageError, match=words):
        parse_backend(f"{backend}?{text}")


def test_bounds_in_order() -> None:
    check_bounds({})
    check_bounds({"min_shapes": "x:1x4", "opt_shapes": "x:2x4,y:3", "max_shapes": "y:3,x:2x8"})
    assert is_in_order([(1, 2), (1, 2), (3, 2)])
    assert is_in_order([])


@pytest.mark.parametrize("backend", ["trt", "trtexec"])
def test_a_profile_that_the_engine_will_not_have(backend) -> None:
    model, engine = Subject(name="m", kind="onnx"), Subject(name="e", kind="engine")
    for text in ("profile_index=1", "opt_shapes=x:1;x:2&profile_index=2"):
        spec = parse_backend(f"{backend}?{text}")
        with pytest.raises(UsageError, match=r"profile_index=\d.*\n?.*from 0"):
            check_subject(spec, model)
    for text in ("profile_index=0", "opt_shapes=x:1;x:2&profile_index=1"):
        check_subject(parse_backend(f"{backend}?{text}"), model)
    check_subject(parse_backend(f"{backend}?profile_index=7"), engine)  # only the engine tells


@pytest.mark.parametrize(
    "option",
    [
        *("profile_index=-1", "device=-1", "builder_optimization_level=-1"),
        *("avg_timing_iterations=0", "max_threads=0", "max_aux_streams=-2"),
    ],
)
def test_numbers_below_the_least_are_no_specification(option) -> None:
    with pytest.raises(UsageError, match=f"trt: {option}"):
        parse_backend(f"trt?{option}")


def test_minus_one_is_the_librarys_own_choice() -> None:
    parse_backend("trt?max_aux_streams=-1&dla_core=-1&max_num_tactics=-1&profile_index=0")
