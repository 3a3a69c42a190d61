"""docs/reference/trtexec-binary.md names options that are refused, notices, places."""

import re
from pathlib import Path

import pytest

from enginescope.backends.trtexec import process
from enginescope.backends.trtexec.options import WITHOUT_FLAG
from enginescope.formats.trtexec.trtexec_flags import PRECISIONS

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
