import re
from pathlib import Path

import pytest

from enginescope.backends.trtexec import process
from enginescope.backends.trtexec.options import WITHOUT_FLAG, Flags, name_of
from enginescope.core.errors import UnsupportedError
from enginescope.formats.trtexec.trtexec_flags import PRECISIONS, all_flags
from tests.backends.trtexec.known_flags import ALWAYS, SPANS, taken_by


def test_flags_in_order_and_those_that_a_version_lacks() -> None:
    flags = Flags((10, 16, 0))
    flags.add("fp16")
    flags.add("infStreams", 2)
    assert flags.arguments == ["--fp16", "--infStreams=2"]
    with pytest.raises(UnsupportedError, match=r"8\.6\.1 has no --useProfile: it came with 9\.0"):
        Flags((8, 6, 1)).add("useProfile", 1)
    with pytest.raises(UnsupportedError, match=r"11\.1\.0 has no --fp16: it went with 11\.0"):
        Flags((11, 1, 0)).add("fp16")
    assert name_of("--avgRuns=100") == "avgRuns"
    assert name_of("--fp16") == "fp16"


def test_every_span_is_that_of_the_tools_own_parser() -> None:
    first_last = {name: span for span, names in SPANS.items() for name in names.split()}
    for flag in all_flags().values():
        name = flag.name.removeprefix("--")
        if flag.first > (11, 1):  # from release notes: that parser has not been read
            continue
        if name not in first_last:
            assert name in ALWAYS.split()
            assert (flag.first <= (8, 6), flag.last) == (True, None), name
            continue
        assert (flag.first, flag.last or (11, 1)) == first_last[name], name


def test_the_versions_differ() -> None:
    assert "fp16" in taken_by((10, 16)) - taken_by((11, 1))
    assert "noCudaGraph" in taken_by((11, 1)) - taken_by((10, 16))


ROOT = Path(__file__).resolve().parents[3]
CODE = re.compile(r'"([WI]-[A-Z-]+)"')


@pytest.fixture(scope="module")
def text() -> str:
    return (ROOT / "docs" / "reference" / "trtexec-binary.md").read_text(encoding="utf-8")


def test_every_notice_is_explained(text) -> None:
    sources = (ROOT / "src/enginescope/backends/trtexec").glob("*.py")
    codes = {code for path in sources for code in CODE.findall(path.read_text())}
    assert len(codes) > 6
    assert not {code for code in codes if f"`{code}`" not in text}


def test_refused_keys_precisions_and_places_are_named(text) -> None:
    for word in (*WITHOUT_FLAG, *PRECISIONS, str(process.USUAL), f"${process.VARIABLE}"):
        assert f"`{word}`" in text
