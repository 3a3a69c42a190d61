import gc

import pytest

from enginescope.core.paused_collection import paused_collection


def test_it_is_off_in_the_block_and_on_after_it() -> None:
    assert gc.isenabled()
    with paused_collection():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_is_on_again_after_an_error() -> None:
    with pytest.raises(ValueError, match="boom"), paused_collection():
        raise ValueError("boom")
    assert gc.isenabled()


def test_who_has_it_off_keeps_it_off() -> None:
    gc.disable()
    try:
        with paused_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
