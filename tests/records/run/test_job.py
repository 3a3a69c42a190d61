import pytest

from enginescope.records.run.job import BackendSpec


@pytest.mark.parametrize(
    ("options", "index"), [({}, None), ({"profile_index": "2"}, 2), ({"profile_index": "0"}, 0)]
)
def test_the_optimisation_profile_asked_for(options, index) -> None:
    assert BackendSpec(name="trt", options=options).profile_index == index
