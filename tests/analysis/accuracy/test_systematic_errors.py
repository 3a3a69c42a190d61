"""Factors, best classes and mixed-up samples: reasons that no single element shows."""

from typing import Any

import numpy as np
import pytest

from tests.analysis.answers import codes, cross_wave, reason, side, wave


def test_a_changed_best_class_has_its_margin() -> None:
    """The best of six classes leads by 4; the spread above the median is √(2 · 136 ÷ 6)."""
    item = np.array([10.0, 0, 0, 0, 0, 6])
    reference = np.repeat(item[None], 20, axis=0)
    wrong = reference.copy()
    wrong[3] = item[::-1]
    wrong[3, :2], wrong[3, 5] = [6, 0], 10
    best = reason(side([reference], [wrong], "fp16"), "best-class")
    margin = 4 / np.sqrt(2 * 136 / 6)
    evidence = {"items": 20, "changed": 1, "margin": margin, "limit": 0.03}
    assert best.evidence == pytest.approx(evidence)
    assert best.message == (
        "the best class differs in 1 of 20 items, though it leads by up to "
        f"{margin:.3g} × the spread of the item's scores; 0.03 may be noise"
    )


@pytest.mark.parametrize(("noise", "changed"), [(0.001, True), (0.05, False)])
def test_a_best_class_may_change_within_the_expected_noise(noise, changed) -> None:
    """8 × the noise is allowed as RMSE, and 3 × that as the lead of a best class."""
    scores = np.zeros((200, 10))
    scores[:, 0], scores[:, 1] = 10, 9
    scores[:, 2:] = np.arange(8) - 3.5
    wrong = scores.copy()
    wrong[3, :2] = [9, 10]
    rounded = scores + noise * scores.std() * cross_wave(2000).reshape(200, 10)
    assert ("best-class" in codes(side([scores], [wrong], "fp16", [rounded]))) is changed


def test_a_factor_of_all_elements_is_systematic() -> None:
    found = side([wave(1000)], [1.006 * wave(1000)], "fp16")
    (factor,) = found.outputs[0].reasons
    assert factor.code == "systematic-scale"
    evidence = {"slope": 1.006, "systematic_share": 1.0, "limit": 0.003}
    assert factor.evidence == pytest.approx(evidence)
    assert factor.message == (
        "values are 1.0060 × the reference's, and that is 100 % of the error: "
        "rounding errors would be random"
    )
    error = 0.006 * (np.sqrt(0.8) * wave(1000) + np.sqrt(0.2) * cross_wave(1000))
    found = reason(side([wave(1000)], [wave(1000) + error], "fp16"), "systematic-scale")
    assert "and that is 80 % of the error" in found.message
    assert found.evidence["systematic_share"] == pytest.approx(0.8)
    assert "systematic-scale" in codes(side([wave(1000)], [1.006 * wave(1000)], "exact"))
    # No element carries the slope, so that the scatter of relative errors excuses nothing.
    values = np.linspace(-1, 1, 1000)
    candidate = 1.006 * values + 0.002 * cross_wave(1000)
    assert codes(side([values], [candidate], "fp16")) == {"systematic-scale"}
    values = np.array([1.0, -1.0, 0.5])
    assert side([values], [1.006 * values], "fp16").passes


@pytest.mark.parametrize(("rounded", "fails"), [(1.004, False), (1.0, True)])
def test_a_factor_that_rounding_shows_too_is_expected(rounded: float, fails: bool) -> None:
    values = wave(1000)
    found = side([values], [1.006 * values], "fp16", [rounded * values])
    assert ("systematic-scale" in codes(found)) is fails


@pytest.mark.parametrize(("size", "fails"), [(0.02, False), (0.03, True)])
def test_a_factor_beyond_the_honest_error_is_systematic_whatever_its_share(size, fails) -> None:
    """It explains half of the squared error, and 1.4 or 2.1 of the honest RMSE; 1.5 may be."""
    values = wave(1000)
    error = size * np.sqrt(0.5) * (wave(1000) + cross_wave(1000))
    found = side([values], [values + error], "int8", [values + 0.01 * cross_wave(1000)])
    assert codes(found) == ({"systematic-scale"} if fails else set())


@pytest.mark.parametrize(
    ("count", "passes", "fails"),
    [(1000, 0.7, 0.8), (64, 0.7, 0.8), (60, 0.8, 0.95), (8, 0.8, 0.95), (4, 0.95, 0.9995)],
)
def test_a_factor_explains_more_of_few_elements_by_chance(count, passes, fails) -> None:
    """The factor's share of the squared error that counts: 75 %, 90 % below 64, 99.9 % below 8."""
    for share, expected in ((passes, set()), (fails, {"systematic-scale"})):
        error = 0.006 * (np.sqrt(share) * wave(count) + np.sqrt(1 - share) * cross_wave(count))
        assert codes(side([wave(count)], [wave(count) + error], "fp16")) == expected, share


@pytest.mark.parametrize(("factor", "fails"), [(1.0029, False), (1.0031, True), (0.9969, True)])
def test_a_factor_up_to_the_limit_is_allowed(factor, fails) -> None:
    assert side([wave(1000)], [factor * wave(1000)], "fp16").passes is not fails


@pytest.mark.parametrize(("part", "fails"), [(1.0, True), (0.4, True), (0.2, False)])
def test_one_large_element_is_no_factor_unless_the_others_share_it(part, fails) -> None:
    """The largest element carries the slope; the others are off by a part of its factor."""
    values = np.append(np.random.default_rng(0).uniform(0.5, 1, 999), 400.0)
    off = 0.02 * np.append(np.full(999, part), 1.0)
    assert ("systematic-scale" in codes(side([values], [values * (1 + off)], "int8"))) is fails


def test_one_large_element_beside_scattered_errors_is_no_factor() -> None:
    generator = np.random.default_rng(0)
    values = np.append(generator.uniform(0.5, 1, 999), 400.0)
    off = 0.02 * np.append(generator.standard_normal(999), 1.0)
    assert "systematic-scale" not in codes(side([values], [values * (1 + off)], "int8"))


def independent(samples: int, shape: tuple[int, ...] = (1, 400)) -> list[Any]:
    generator = np.random.default_rng(samples)
    return [generator.standard_normal(shape) for _ in range(samples)]


@pytest.mark.parametrize(("samples", "fails"), [(19, True), (20, True), (21, False)])
def test_a_tenth_of_the_samples_in_anothers_place_fails(samples, fails) -> None:
    reference = independent(samples)
    found = side(reference, [reference[1], reference[0], *reference[2:]], "int8")
    assert (found.outputs[0].astray, found.outputs[0].told_apart) == (2, samples)
    assert ("other-samples" in codes(found)) is fails
    if fails:
        mixed = reason(found, "other-samples")
        assert mixed.message == (
            f"2 of {samples} samples are nearer to another sample's reference than to their own"
        )
        assert mixed.evidence == {"astray": 2, "samples": samples}


def test_samples_nearer_to_another_are_mixed_up_and_little_noise_narrows_no_lead() -> None:
    reference = independent(4)
    found = side(reference, [reference[1], *reference[1:]], "int8")
    assert found.outputs[0].astray == 1
    assert "other-samples" not in codes(found)
    other = [*reference[1:], reference[0]]
    mixed = [0.4 * own + 0.6 * another for own, another in zip(reference, other, strict=True)]
    assert reason(side(reference, mixed, "int8"), "other-samples").evidence["astray"] == 4
    # 3 × the row's part of the spread is noise even where less is expected.
    scores = np.tile([10.0, 0, 0, 0, 0, 6], (20, 1))
    wrong = scores.copy()
    wrong[3, [0, 5]] = [6, 10]
    rounded = scores + 1e-5 * cross_wave(120).reshape(20, 6)
    best = reason(side([scores], [wrong], "fp16", [rounded]), "best-class")
    assert best.evidence["limit"] == pytest.approx(0.03)
    assert reason(side([scores], [wrong], "exact"), "best-class").evidence["limit"] == 0


@pytest.mark.parametrize(("samples", "fails"), [(9, True), (10, True), (11, False)])
def test_a_tenth_of_the_samples_with_swapped_axes_fails(samples, fails) -> None:
    reference = independent(samples, (1, 1, 16, 16))
    found = side(reference, [reference[0].swapaxes(2, 3), *reference[1:]], "int8")
    assert ("arrangement" in codes(found)) is fails
    if fails:
        swapped = reason(found, "arrangement")
        text = f"1 of {samples} samples are nearer to the reference with its last two axes swapped"
        assert swapped.message == text
        name = "its last two axes swapped"
        assert swapped.evidence == {"astray": 1, "samples": samples, "arrangement": name}


# Best classes that change: by noise, or although the reference was clear.


def logits(items: int = 12, classes: int = 200) -> np.ndarray:
    generator = np.random.default_rng(items)
    scores = 3 * generator.standard_normal((1, items, classes))
    scores[0, np.arange(items), generator.integers(classes, size=items)] += 15
    return scores - 4


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def with_best_two_swapped(scores: np.ndarray, item: int) -> np.ndarray:
    wrong = scores.copy()
    second, best = np.argsort(scores[0, item])[-2:]
    wrong[0, item, [second, best]] = scores[0, item, [best, second]]
    return wrong


@pytest.mark.parametrize("row", ["fp32", "fp16", "bf16", "int8"])
@pytest.mark.parametrize("form", [lambda scores: scores, softmax], ids=["logits", "probabilities"])
def test_a_clear_best_class_may_not_change(form, row) -> None:
    for classes in (5, 200):
        reference = form(logits(classes=classes))
        found = side([reference], [with_best_two_swapped(reference, 7)], row)
        evidence = reason(found, "best-class").evidence
        assert (evidence["changed"], evidence["items"]) == (1, 12)


@pytest.mark.parametrize("row", ["fp16", "bf16", "int8"])
@pytest.mark.parametrize("form", [lambda scores: scores, softmax], ids=["logits", "probabilities"])
def test_a_tie_within_the_noise_may_change(form, row) -> None:
    scores = logits()
    best = scores[0, 7].argmax()
    scores[0, 7, (best + 1) % 200] = scores[0, 7, best] - 0.02
    reference = form(scores)
    assert side([reference], [with_best_two_swapped(reference, 7)], row).passes


def test_each_item_has_a_spread_about_its_own_median() -> None:
    scores = logits()
    scores[0, 3] += 5
    wrong = with_best_two_swapped(with_best_two_swapped(scores, 7), 3)
    second, best = np.sort(scores[0, [3, 7]])[:, -2:].T
    above = np.maximum(scores[0, [3, 7]] - np.median(scores[0, [3, 7]], axis=1)[:, None], 0)
    margins = (best - second) / np.sqrt(2 * np.square(above).mean(axis=1))
    evidence = reason(side([scores], [wrong], "int8"), "best-class").evidence
    assert (evidence["changed"], evidence["margin"]) == (2, pytest.approx(margins.max()))


def test_masked_classes_hide_no_change_and_nan_and_coordinates_are_no_classes() -> None:
    scores = logits()
    scores[..., np.setdiff1d(np.arange(200), scores.argmax(-1))[:20]] = -1e9
    assert "best-class" in codes(side([scores], [with_best_two_swapped(scores, 3)], "int8"))
    scores = logits()
    wrong = with_best_two_swapped(scores, 7)
    wrong[0, 7, 0] = np.nan
    assert "best-class" not in codes(side([scores], [wrong], "int8"))
    draw = np.random.default_rng(0)
    rows = np.concatenate([draw.uniform(0, 640, (50, 4)), draw.uniform(0, 1, (50, 12))], axis=1)
    rows[:, 1] = rows[:, 0] + 0.5
    moved = rows.copy()
    moved[:, 0] += 1
    assert side([rows], [moved], "int8").passes


REFERENCE = np.random.default_rng(0).standard_normal((3, 8, 40, 40)).astype(np.float32)


def eight_bits(values: np.ndarray) -> np.ndarray:
    step = np.abs(values).max() / 127
    return (step * np.rint(values / step)).astype(np.float32)


@pytest.mark.parametrize("row", ["fp64", "fp32", "tf32", "fp16", "bf16"])
def test_eight_bits_are_too_few_values_for_a_finer_row(row) -> None:
    found = side(list(REFERENCE[:, None]), list(eight_bits(REFERENCE)[:, None]), row)
    assert reason(found, "few-values").evidence["values"] <= 255


def test_enough_values_for_the_row_are_no_rounding_to_8_bits() -> None:
    assert side([REFERENCE], [eight_bits(REFERENCE)], "int8").passes
    narrow = np.random.default_rng(1).uniform(4, 8, (1, 20_000)).astype(np.float32)
    bits = (narrow.view(np.uint32) + 0x8000) & np.uint32(0xFFFF0000)
    assert side([narrow], [bits.view(np.float32)], "bf16").passes
    # Each sample has few values, but others than the next.
    samples = [np.linspace(at, at + 1, 200)[None] for at in range(20)]
    assert side(samples, samples, "fp16").passes


@pytest.mark.parametrize("values", [np.round(REFERENCE * 50) / 50, np.tile([0.5, 2.0], 4000)])
def test_a_reference_of_few_values_asks_for_no_more(values) -> None:
    assert side([values], [values], "fp16").passes
