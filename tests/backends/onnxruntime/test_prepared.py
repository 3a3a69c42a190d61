"""Entries of what was made ready, where several processes make the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from enginescope.backends.onnxruntime import preparing
from enginescope.records.run.job import BackendSpec, Job, Subject


@pytest.fixture
def job(tmp_path) -> Job:
    return Job(
        subject=Subject(name="net.onnx", kind="onnx"),
        backend=BackendSpec(name="ort-cpu", precision="fp16"),
        engine_cache=str(tmp_path),
    )


def made(part: Path, by: str) -> None:
    (part / preparing.RECORD).write_text(by)


def test_what_another_process_has_made_meanwhile_stays(job) -> None:
    with preparing.being_made(job, "key") as late:
        with preparing.being_made(job, "key") as early:
            made(early, "early")
        made(late, "late")
    record = preparing.record_of(job, "key")
    assert record.read_text() == "early"
    assert [one.name for one in record.parents[1].iterdir()] == ["key"]


def test_what_was_not_whole_before_is_made_anew(job) -> None:
    for by in ("first", "second"):
        with preparing.being_made(job, "key") as part:
            made(part, by)
    assert preparing.record_of(job, "key").read_text() == "second"


def test_of_what_fails_nothing_is_kept(job) -> None:
    with pytest.raises(ValueError, match="no"), preparing.being_made(job, "key"):
        raise ValueError("no")
    assert not any(preparing.record_of(job, "key").parents[1].iterdir())
