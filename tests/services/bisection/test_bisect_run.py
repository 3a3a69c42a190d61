"""What a search does where marks change what is marked, or are refused."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from enginescope.analysis.bisection.tensor_pairs import TensorError, TensorPair, TensorPairs
from enginescope.analysis.errors.output_tolerance import TOLERANCES, ToleranceRequest
from enginescope.core.errors import BackendError
from enginescope.records.run.job import BackendSpec, Job, Subject
from enginescope.records.run.sample_set import Preprocessing, Sample
from enginescope.render.base.text import answer_lines, as_text
from enginescope.render.bisection.bisect_answer import inside_part
from enginescope.services.bisection.search import BisectPlan, BisectRun
from tests.overflowing import overflowing

pytestmark = pytest.mark.usefixtures("in_process")


def error(name: str, *, over: bool) -> TensorError:
    return TensorError(
        tensor=name,
        elements=1,
        error=1.0 if over else 0.0,
        peak=0.0,
        max_abs_error=0.0,
        reference_peak=1.0,
        over="error" if over else None,
        share=2.0 if over else 0.0,
    )


class Runtime:
    """Stands for both sides: what it gives of marked tensors is made up."""

    def __init__(self, over: set[str], shows_up_to: int, refused: str | None = None) -> None:
        self.over, self.most, self.refused = over, shows_up_to, refused
        self.copies: list[int] = []

    def compared(self, pairs: Sequence[TensorPair]) -> tuple[dict[str, TensorError], bool]:
        names = [one.reference for one in pairs]
        self.copies.append(len(names))
        if self.refused in names:
            raise BackendError("building net", why=f"{self.refused} is in a format of its own")
        shows = len(names) <= self.most
        return {name: error(name, over=shows and name in self.over) for name in names}, shows


@pytest.fixture
def search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    model = overflowing(tmp_path / "net.onnx", size=8)
    job = Job(
        subject=Subject(name="net.onnx", kind="onnx", path=str(model)),
        backend=BackendSpec(name="ort-cpu"),
    )

    def made(runtime: Runtime, *, fails: bool = True, most: int | None = None) -> BisectRun:
        monkeypatch.setattr(
            "enginescope.services.bisection.branches.IntermediateOutputs.input_shapes",
            lambda *_: {},
        )
        monkeypatch.setattr(BisectRun, "_compared", runtime.compared)
        plan = BisectPlan(
            label="side",
            reference_label="reference",
            job=job,
            reference=job,
            samples=(Sample(name="one"),),
            preprocessing=Preprocessing(),
            tolerance=TOLERANCES["fp32"],
            asked=ToleranceRequest(),
            fails=fails,
            folder=str(tmp_path),
            most=most,
        )
        return BisectRun(plan, lambda *_: None)

    return made


BEHIND = {"third_out", "third_relu", "last_out", "y"}


def test_an_error_that_many_marks_take_away_is_found_with_few(search) -> None:
    runtime = Runtime(BEHIND, shows_up_to=7)
    found = search(runtime).find()
    assert found.first == "third_out"
    assert [one.code for one in found.notices] == ["W-ERROR-GONE"]
    assert runtime.copies[0] == found.tensors
    assert max(runtime.copies[1:]) <= 7  # six, and the output
    found = search(Runtime(BEHIND, shows_up_to=0)).find()
    assert (found.first, found.cause) == (None, "gone")
    assert [one.code for one in found.notices] == ["W-ERROR-GONE", "W-ERROR-GONE"]
    found = search(Runtime(BEHIND, shows_up_to=99), fails=False).find()
    assert [one.code for one in found.notices] == ["W-ERROR-BY-MARKS"]
    found = search(Runtime(BEHIND, shows_up_to=99, refused="pooled")).find()
    assert found.first == "third_out"
    (notice,) = found.notices
    assert notice.code == "W-NOT-MARKED"
    assert "pooled could not be compared" in notice.message
    assert found.not_compared == ("pooled",)
    assert not found.is_complete


def test_a_search_without_common_tensors_or_builds_ends(search) -> None:
    """And no runtime is blamed for it."""
    runtime = Runtime(BEHIND, shows_up_to=99)
    doing = search(runtime)
    doing._pairs, doing.paired = {}, TensorPairs(pairs=())
    found = doing.find()
    assert (found.first, found.cause, found.notices) == (None, "unpaired", ())
    assert runtime.copies == []
    part = inside_part(found, "s")
    assert part.answer == "not found: no intermediate tensor can be compared"
    shown = "".join(as_text(one, width=80) for one in answer_lines(part, 80))
    assert "operator" not in shown  # no table of nothing

    class Broken(Runtime):
        def compared(self, pairs: Sequence[TensorPair]) -> tuple[dict[str, TensorError], bool]:
            self.copies.append(len(pairs))
            raise BackendError("building net", why="no GPU")

    runtime = Broken(set(), 0)
    with pytest.raises(BackendError, match="no GPU"):
        search(runtime).find()
    assert len(runtime.copies) < 16


def test_large_tensors_are_given_by_several_copies(search, monkeypatch) -> None:
    monkeypatch.setattr("enginescope.services.bisection.search._MOST_BYTES", 64 * 8 * 8 * 4 * 2)
    runtime = Runtime(BEHIND, shows_up_to=99)
    found = search(runtime).find()
    assert (found.first, runtime.copies) == ("third_out", [2, 5, 2])
    assert sum(runtime.copies) == found.tensors
