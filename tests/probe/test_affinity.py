import os
import subprocess
import sys

import pytest

from enginescope.core.errors import UsageError
from enginescope.core.units import parse_ranges
from enginescope.probe import host
from enginescope.probe.host import (
    check_pinning,
    children_pinned_to,
    ranges_text,
    shared_cores,
    siblings,
)

has_affinity = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity"), reason="this system pins no process"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0", (0,)), ("0,1", (0, 1)), ("4,0-2", (0, 1, 2, 4)), (" 3 - 4 , 3", None), ("1-1", (1,))],
)
def test_ranges_are_read(text, expected) -> None:
    if expected is None:
        with pytest.raises(ValueError, match="3 - 4"):
            parse_ranges(text)
    else:
        assert parse_ranges(text) == expected


@pytest.mark.parametrize("text", ["", "a", "1,", "-1", "2-1", "0-", "1.5", "0-99999999"])
def test_what_is_no_range(text) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the caller has the message
        parse_ranges(text)


def test_ranges_are_written() -> None:
    assert ranges_text([0]) == "0"
    assert ranges_text([1, 0]) == "0, 1"
    assert ranges_text([0, 1, 2, 5, 7, 8]) == "0…2, 5, 7, 8"


def test_the_usable_ones_are_named(monkeypatch) -> None:
    monkeypatch.setattr(host, "usable_processors", lambda: (0, 1, 2, 3))
    check_pinning([0, 3])
    with pytest.raises(UsageError) as caught:
        check_pinning([0, 9, 4])
    assert caught.value.what == "`pinned_cores`: no cores 4, 9 to use here"
    assert caught.value.hint == "usable: 0…3"
    monkeypatch.setattr(host, "usable_processors", lambda: None)
    with pytest.raises(UsageError, match="pins no process"):
        check_pinning([0])


@has_affinity
def test_children_are_pinned_and_this_process_is_not() -> None:
    before = os.sched_getaffinity(0)
    one = max(before)
    with children_pinned_to((one,)):
        told = subprocess.run(
            [sys.executable, "-c", "import os; print(os.sched_getaffinity(0))"],
            capture_output=True,
            text=True,
            check=True,
        )
    assert told.stdout.strip() == f"{{{one}}}"
    assert os.sched_getaffinity(0) == before
    with children_pinned_to(()):
        assert os.sched_getaffinity(0) == before


def made_topology(folder, groups: dict[int, str]):
    for processor, text in groups.items():
        place = folder / f"cpu{processor}" / "topology"
        place.mkdir(parents=True)
        (place / "thread_siblings_list").write_text(f"{text}\n")
    return folder


def test_threads_of_one_core(tmp_path) -> None:
    cpus = made_topology(tmp_path, {0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"})
    assert siblings(0, cpus) == (0, 2)
    assert shared_cores((0, 1), cpus) == ()
    assert shared_cores((0, 1, 2), cpus) == ((0, 2),)
    assert shared_cores((0, 1, 2, 3), cpus) == ((0, 2), (1, 3))
    assert siblings(0, tmp_path / "none") == ()
    assert shared_cores((0, 1), tmp_path / "none") == ()
