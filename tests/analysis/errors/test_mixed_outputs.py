"""Outputs whose parts have scales of their own: each part is judged by its own."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from enginescope.analysis.errors.output_tolerance import TOLERANCES
from tests.analysis.answers import codes, side

ROWS = ["fp32", "fp16", "bf16", "int8"]
#: RMSE ÷ norm by channel that each row's rounding causes in real networks.
HONEST = {"fp32": 3e-6, "fp16": 4e-3, "bf16": 0.03, "int8": 0.1}
Arrays = list[Any]


def detections() -> Arrays:
    """Boxes in pixels above 18 classes' scores, most of them near 0, as a YOLO has them."""
    generator = np.random.default_rng(3)
    outputs = []
    for _ in range(3):
        boxes = generator.uniform(0, 640, (4, 2100))
        scores = 1 / (1 + np.exp(-generator.normal(-6, 1.5, (18, 2100))))
        outputs.append(np.concatenate([boxes, scores])[None].astype(np.float32))
    return outputs


def rows_of_boxes(samples: int = 4, rows: int = 12) -> Arrays:
    """Corners in pixels, score, class: n × 6."""
    generator = np.random.default_rng(rows)
    outputs = []
    for _ in range(samples):
        boxes = generator.uniform(0, 640, (rows, 4))
        scores = generator.uniform(0.3, 1, (rows, 1))
        kinds = generator.integers(0, 18, (rows, 1))
        outputs.append(np.concatenate([boxes, scores, kinds], axis=1).astype(np.float32))
    return outputs


def hidden_states(samples: int = 1) -> Arrays:
    """Two outlier dimensions, a thousand times larger than the others."""
    generator = np.random.default_rng(7)
    outputs = [generator.standard_normal((1, 16, 256)) for _ in range(samples)]
    for states in outputs:
        states[..., 7] = 900 + 20 * generator.standard_normal((1, 16))
        states[..., 99] = -1500 + 20 * generator.standard_normal((1, 16))
    return [states.astype(np.float32) for states in outputs]


def embeddings() -> Arrays:
    """One vector with an outlier: each channel has a single element."""
    vector = np.random.default_rng(3).standard_normal((1, 512))
    vector[0, 40] = 800
    return [vector.astype(np.float32)]


def honest(outputs: Arrays, row: str) -> Arrays:
    """Every channel, along the axis that is not its elements', off by a part of its norm."""
    generator = np.random.default_rng(11)
    changed = []
    for values in outputs:
        axis = 1 if values.shape[1:] == (22, 2100) else -1
        others = tuple(at for at in range(values.ndim) if at != axis % values.ndim)
        norm = np.sqrt(np.square(values).mean(axis=others, keepdims=True))
        if values.size == values.shape[-1]:  # a channel has one element: errors are of the others'
            norm = np.maximum(np.abs(values) / 10, np.median(np.abs(values)))
        error = HONEST[row] * norm * generator.standard_normal(values.shape)
        changed.append((values + error).astype(np.float32))
    return changed


def with_part(where: Any, change: Callable[[Any], Any]) -> Callable[[Arrays], Arrays]:
    def changed(outputs: Arrays) -> Arrays:
        copies = [values.copy() for values in outputs]
        for values in copies:
            values[where] = change(values[where])
        return copies

    return changed


def zero(values: Any) -> Any:
    return 0 * values


def half(values: Any) -> Any:
    return values / 2


SCORES = np.s_[:, 4:]
CASES: dict[str, tuple[Arrays, Callable[[Arrays], Arrays]]] = {
    "scores set to 0": (detections(), with_part(SCORES, zero)),
    "scores halved": (detections(), with_part(SCORES, half)),
    "one class set to 0": (detections(), with_part(np.s_[:, 9], zero)),
    "one class shuffled": (
        detections(),
        with_part(np.s_[:, 9], lambda values: values[:, ::-1]),
    ),
    "one score invented": (detections(), with_part(np.s_[0, 9, 70], lambda _: 0.9)),
    "scores of rows set to 0": (rows_of_boxes(), with_part(np.s_[:, 4], zero)),
    "scores of rows halved": (rows_of_boxes(), with_part(np.s_[:, 4], half)),
    "scores of one sample's three rows set to 0": (
        rows_of_boxes(1, 3),
        with_part(np.s_[:, 4], zero),
    ),
    "a dimension set to 0": (hidden_states(), with_part(np.s_[..., 30], zero)),
    "all but the outliers set to 0": (hidden_states(), with_part(np.s_[..., 100:], zero)),
    "a vector set to 0 but for its outlier": (embeddings(), with_part(np.s_[:, 41:], zero)),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("case", CASES)
def test_a_destroyed_part_fails_beside_large_values(case, row) -> None:
    reference, change = CASES[case]
    found = side(reference, change(reference), row)
    assert codes(found) & {"channel-error", "channel-peak"}, found.outputs[0].reasons


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize(
    "outputs", [detections(), rows_of_boxes(), hidden_states(), hidden_states(4), embeddings()]
)
def test_rounding_of_every_part_passes(outputs, row) -> None:
    found = side(outputs, honest(outputs, row), row)
    assert found.passes, found.outputs[0].reasons


@pytest.mark.parametrize("row", ROWS)
def test_a_masked_logit_and_places_without_anything_do_not_hide_the_others(row) -> None:
    generator = np.random.default_rng(5)
    logits = 4 * generator.standard_normal((1, 1000)).astype(np.float32)
    logits[0, 17] = -1e9
    wrong = logits.copy()
    wrong[0, 18:] = 0
    assert not side([logits], [wrong], row).passes
    error = HONEST[row] * 4 * generator.standard_normal(logits.shape)
    rounded = (logits + np.where(logits < -1e8, 0, error)).astype(np.float32)
    assert side([logits], [rounded], row).passes
    # Columns of a map where nothing is have no scale of their own; losing one is an error.
    generator = np.random.default_rng(8)
    maps = np.maximum(generator.standard_normal((1, 1, 40, 64)), 0) + 0.5
    maps[..., 20:30] = 1e-6
    error = HONEST[row] * maps.std() * generator.standard_normal(maps.shape)
    assert side([maps], [maps + error], row).passes
    wrong = maps.copy()
    wrong[..., 50] = 0
    assert "channel-error" in codes(side([maps], [wrong], row))


def test_the_reason_names_the_channels_and_one_that_is_not_finite_has_no_figures() -> None:
    reference = detections()
    (output,) = side(reference, with_part(SCORES, zero)(reference), "fp16").outputs
    (reason,) = (one for one in output.reasons if one.code == "channel-error")
    assert "on channels 4–21 of axis 1" in reason.message
    assert reason.evidence["channels"] == list(range(4, 22))
    halved = with_part(SCORES, half)(reference)
    (output,) = side(reference, halved, "fp16", honest(reference, "fp16")).outputs
    (reason,) = (one for one in output.reasons if one.code == "channel-error")
    assert "at most 0.0501 wanted" in reason.message
    values = np.ones((1, 3, 5))
    values[:, 1] = np.nan
    (output,) = side([values], [values], "fp32").outputs
    assert output.channels.rmse == (0.0, None, 0.0)
    assert output.channels.max_abs_error == (0.0, None, 0.0)


def sparse_map() -> Any:
    """A sigmoid's map without anything in it: a few hundredths of a millionth throughout."""
    values = 1e-5 * np.exp(np.random.default_rng(2).normal(0, 2, (1, 1, 64, 80)))
    return np.minimum(values, 1e-3).astype(np.float32)


def test_rounding_at_a_wide_range_is_no_error_but_the_loss_of_a_scale_is() -> None:
    reference = sparse_map()
    error = np.random.default_rng(3).choice([-1.2e-7, 0, 1.2e-7], reference.shape)
    candidate = (reference + error).astype(np.float32).clip(0)
    assert side([reference] * 3, [candidate] * 3, "fp32").passes
    assert not side([reference] * 3, [0 * candidate] * 3, "fp32").passes
    assert side([np.zeros(100)], [np.full(100, 1e-12)], "fp32").passes
    # Values near 1,000 that vary by 0.1: FP16 has steps of 0.5 there.
    reference = 1000 + 0.1 * np.random.default_rng(1).standard_normal((2, 500))
    assert "error" in codes(side([reference], [np.full_like(reference, 1000)], "fp16"))


@pytest.mark.parametrize("row", ["bf16", "int8"])
def test_maps_without_anything_are_not_accused_of_mixed_up_samples(row) -> None:
    maps = [sparse_map() * factor for factor in (1.0, 0.9, 1.1)]
    # 1.06 × 0.9 is nearer to 1 than to 0.9
    assert "other-samples" not in codes(side(maps, [1.06 * values for values in maps], row))
    assert codes(side(maps, [0 * values for values in maps], row)) == {"nothing-compared"}
    assert codes(side(maps, maps[1:] + maps[:1], row)) == {"other-samples"}


@pytest.mark.parametrize("row", [row for row in TOLERANCES if row not in ("exact", "fp64")])
def test_values_below_the_resolution_are_no_comparison(row) -> None:
    tiny = 1e-9 * np.random.default_rng(4).uniform(0, 1, (1, 400))
    other = 1e-9 * np.random.default_rng(5).uniform(0, 1, (1, 400))
    assert codes(side([tiny], [other], row)) == {"nothing-compared"}
    assert side([tiny], [tiny], row).passes
