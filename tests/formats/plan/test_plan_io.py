import pytest

from enginescope.formats.plan.plan_json import io_tensors


@pytest.mark.parametrize(
    ("raw", "truth"),
    [
        (True, True),
        (0, False),
        (1, True),
        ("true", True),
        ("Disabled", None),
        ("no", False),
        (None, None),
        (7, None),
    ],
)
def test_truth_in_any_spelling(raw, truth) -> None:
    (found,), _ = io_tensors({"I/O Tensors": [{"Name": "x", "IsShapeInferenceIO": raw}]}, ())
    assert found.is_shape_tensor is truth


def test_entries_without_a_name_are_left_out() -> None:
    found, _ = io_tensors({"I/O Tensors": ["plain", {"IOMode": "Input"}, 3]}, ())
    assert [one.tensor.name for one in found] == ["plain"]
    assert found[0].mode is None


def test_profiles_with_holes() -> None:
    info = [{"MinShape": [1, -1], "OptShape": "1x2"}, 3]
    (found,), _ = io_tensors({"I/O Tensors": [{"Name": "x", "ProfileInfo": info}]}, ())
    (profile,) = found.profiles
    assert (profile.min_shape, profile.opt_shape, profile.layout) == (None, None, None)


def test_nothing_to_deduce_from() -> None:
    assert io_tensors({}, ()) == ((), False)
