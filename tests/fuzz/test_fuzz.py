"""The first cases of the mutation fuzz (`make fuzz`), and that it sees what it looks for."""

from collections import Counter
from pathlib import Path

import pytest

from tests.fuzz.__main__ import Fuzz, numbers, peak_bytes
from tests.fuzz.targets import Target

CASES = 600
SECONDS = 8


@pytest.mark.slow
def test_no_mutation_gives_a_traceback(tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    failures = list(Fuzz(tmp_path, 36).failures(numbers(0, CASES, SECONDS), counts))
    assert not failures, failures[0].text
    assert sum(counts.values()) >= 20
    assert peak_bytes() > 0


def test_a_traceback_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(_target: Target, _data: bytes) -> None:
        raise TypeError("planted")

    for name in ("foreign", "screens", "suite", "run", "database", "model", "session"):
        monkeypatch.setattr(Target, name, wrong)
    (failure,) = Fuzz(tmp_path, 36).failures(numbers(0, 1, None), Counter())
    assert "planted" in failure.text
