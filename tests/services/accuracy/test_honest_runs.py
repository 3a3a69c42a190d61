"""Honest runs of real models pass; runs that lose their task's figures by a planted error fail."""

import pytest

from tests.honest.models import MODELS
from tests.honest.runs import honest_runs, judged, rounded_runs, run

#: Models whose honest runs all pass; benchmarks/honest_runs.py has the others.
PASSING = ["MNIST CNN", "toy BERT", "voice commands", "YOLO-shaped detector"]


@pytest.mark.slow
@pytest.mark.parametrize("name", PASSING)
def test_honest_runs_pass(name, tmp_path) -> None:
    model = MODELS[name]
    reference = run(model.path(tmp_path), model.feeds())
    rounded = rounded_runs(model, tmp_path)
    failing = [
        one.name
        for one in honest_runs(model, tmp_path)
        if one.holds and not judged(reference, one.outputs, one.row, rounded.get(one.row)).passes
    ]
    assert failing == []


@pytest.mark.slow
@pytest.mark.parametrize("level", ["off", "basic"])
def test_pictures_without_text_pass_at_every_level(level, tmp_path) -> None:
    """Maps of values near 0 differ by 1.2e-7."""
    model = MODELS["PP-OCR detection, no text"]
    path, feeds = model.path(tmp_path), model.feeds()
    assert judged(run(path, feeds), run(path, feeds, level), "fp32").passes


@pytest.mark.slow
@pytest.mark.parametrize(("row", "factor"), [("fp32", 0.5), ("fp16", 0.0)])
def test_scores_halved_or_zeroed_fail(row, factor, tmp_path) -> None:
    model = MODELS["YOLO-shaped detector"]
    reference = run(model.path(tmp_path), model.feeds())
    wrong = [{name: value.copy() for name, value in one.items()} for one in reference]
    for one in wrong:
        one["output0"][:, 4:] *= factor
    assert not judged(reference, wrong, row).passes
