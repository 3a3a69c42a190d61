import pytest

from enginescope.core.errors import StoreError
from enginescope.store.run_names import check_id, check_tag, is_id, is_tag, steps_back


@pytest.mark.parametrize("name", ["7f3ac01944de", "a", "A-b_c.d"])
def test_ids(name) -> None:
    assert is_id(name)
    check_id(name)


@pytest.mark.parametrize("name", ["", ".", "..", ".hidden", "a/b", "a b", "a\n", "x" * 65])
def test_no_ids(name) -> None:
    assert not is_id(name)
    with pytest.raises(StoreError, match="run id"):
        check_id(name)


@pytest.mark.parametrize("name", ["v1.2", "größer", "100%", "a-b", "lat", "x" * 128])
def test_tags(name) -> None:
    assert is_tag(name)
    check_tag(name)


@pytest.mark.parametrize(
    "name", ["", "latest", "latest~2", "a b", "a\tb", "a/b", "a\\b", "-a", "x" * 129]
)
def test_no_tags(name) -> None:
    assert not is_tag(name)
    with pytest.raises(StoreError, match="tag"):
        check_tag(name)


@pytest.mark.parametrize(
    ("name", "back"),
    [("latest", 0), ("latest~0", 0), ("latest~12", 12), ("latest~", None), ("latest~x", None)],
)
def test_steps_back(name, back) -> None:
    assert steps_back(name) == back
