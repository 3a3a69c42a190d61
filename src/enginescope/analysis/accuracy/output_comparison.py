"""Outputs of one side against the reference's, sample by sample, in one pass."""

from collections.abc import Callable, Iterator, Sequence

from enginescope.analysis.accuracy import output_diff, sample_checks
from enginescope.analysis.accuracy.binding_check import dims_text
from enginescope.analysis.accuracy.error_limits import (
    ExpectedNoise,
    NoiseSum,
    by_name,
    channel_limits,
    whole_limits,
    widest_noise,
)
from enginescope.analysis.accuracy.output_verdict import (
    FEWEST_ELEMENTS,
    Compared,
    accepts_noise,
    is_negligible,
    misplaced,
    reasons_of,
)
from enginescope.analysis.errors.channel_errors import ChannelAxes, kind_of
from enginescope.analysis.errors.element_errors import ElementErrors, compare_elements, has_ulps
from enginescope.analysis.errors.output_tolerance import Tolerance
from enginescope.judge.notice import Notice
from enginescope.records.run.run import TensorValues
from enginescope.records.tensor import DataType

#: Return the limits for an output of this name.
Tolerances = Callable[[str], Tolerance]


class SideComparison:
    """Adds up the differences of one side; holds no more than a few samples at a time.

    Args:
        tolerances: Name of an output -> its limits.
        allow_nothing: Whether an output passes of which no element could be compared.
    """

    def __init__(self, label: str, tolerances: Tolerances, *, allow_nothing: bool = False) -> None:
        self._label, self._tolerances, self._allow_nothing = label, tolerances, allow_nothing
        self._outputs: dict[str, _Output] = {}
        self._samples: list[output_diff.SampleDiff] = []

    def add(
        self,
        sample: int,
        name: str,
        reference: Sequence[TensorValues],
        candidate: Sequence[TensorValues],
        rounded: Sequence[Sequence[TensorValues]] = (),
    ) -> None:
        """Add one sample's outputs; they belong together by name.

        Args:
            rounded: Outputs of the rounded reference, for each honest way to round: their distance
                from the reference is the error that the row's precision is expected to cause.
        """
        ours, expected = by_name(candidate), [by_name(order) for order in rounded]
        theirs = by_name(reference)
        for output in dict.fromkeys((*theirs, *ours)):
            if output not in self._outputs:
                limits, allows = self._tolerances(output), self._allow_nothing
                self._outputs[output] = _Output(output, limits, allow_nothing=allows)
            pair = theirs.get(output), ours.get(output)
            honest = [one.get(output) for one in expected]
            self._samples.append(self._outputs[output].add(sample, name, pair, honest))

    def result(self) -> output_diff.SideDiff:
        """Return what was added so far."""
        return output_diff.SideDiff(
            label=self._label,
            outputs=tuple(output.result() for output in self._outputs.values()),
            samples=tuple(self._samples),
            worst=output_diff.farthest(self._samples),
        )


class _Output:
    def __init__(self, name: str, tolerance: Tolerance, *, allow_nothing: bool) -> None:
        self._name, self._tolerance, self._allow_nothing = name, tolerance, allow_nothing
        self._errors = ElementErrors()
        self._channels = ChannelAxes()
        self._noise: list[NoiseSum] = []
        self._best = sample_checks.BestClasses()
        self._steps = sample_checks.ValueSteps(tolerance.name)
        self._nearest = sample_checks.NearestReference()
        self._arranged = sample_checks.NearestArrangement()
        self._ranks: sample_checks.RankAgreement | None = None
        self._structure: dict[str, output_diff.OutputReason] = {}
        self._shapes: dict[tuple[int, ...], None] = {}
        self._dtypes: tuple[DataType | None, DataType | None] = (None, None)
        self._count = 0

    def add(
        self,
        sample: int,
        name: str,
        pair: tuple[TensorValues | None, TensorValues | None],
        rounded: Sequence[TensorValues | None],
    ) -> output_diff.SampleDiff:
        """Add one sample's pair and return its figures."""
        a, b = pair
        self._dtypes = (a.dtype if a else self._dtypes[0], b.dtype if b else self._dtypes[1])
        reason = _difference(self._name, sample, a, b)
        shape = (a or b).shape if (a or b) is not None else None  # type: ignore[union-attr]
        figures, code = None, reason.code if reason else None
        if reason is not None:
            self._structure.setdefault(reason.code, reason)
        elif a is not None and b is not None:
            errors = self._compared(sample, a, b)
            self._noise = self._noise or [NoiseSum() for _ in rounded or (None,)]
            for at, noise in enumerate(self._noise):
                noise.add(a, rounded[at] if at < len(rounded) else None)
            broken = reasons_of(Compared(errors), self._tolerance, kind_of(a.dtype))
            figures, code = output_diff.figures_of(errors), broken[0].code if broken else None
        return output_diff.SampleDiff(
            sample=sample, name=name, output=self._name, shape=shape, figures=figures, reason=code
        )

    def _compared(self, sample: int, a: TensorValues, b: TensorValues) -> ElementErrors:
        errors = compare_elements(a, b, self._tolerance, sample)
        self._errors = self._errors + errors
        self._channels.add(a, b, sample)
        self._best.add(a, b)
        self._steps.add(a, b)
        self._nearest.add(sample, a, b)
        self._arranged.add(a, b)
        if sample_checks.looks_like_scores(a):
            ranks = sample_checks.rank_agreement(a, b)
            self._ranks = self._ranks + ranks if self._ranks else ranks
        if len(self._shapes) < 16:
            self._shapes[a.shape] = None
        self._count += 1
        return errors

    def result(self) -> output_diff.OutputDiff:
        """Return the output's figures and verdict."""
        reference_dtype, dtype = self._dtypes
        noise = widest_noise([one.result() for one in self._noise])
        channels = self._channels
        reasons = [*self._structure.values()]
        if self._count and reference_dtype is not None:
            kind = kind_of(reference_dtype)
            compared = Compared(self._errors, channels.axes, noise, self._best, self._steps)
            reasons += reasons_of(compared, self._tolerance, kind)
            is_float = kind == "float"
            if not (is_float and is_negligible(self._errors, self._tolerance)):
                hidden = is_float and is_negligible(self._errors, self._tolerance, places=True)
                reasons += misplaced(self._nearest, self._arranged, is_hidden=hidden)
        nothing = None if reasons else self._nothing(noise)
        if nothing is not None and not self._allow_nothing:
            reasons.append(output_diff.OutputReason(code="nothing-compared", message=nothing))
        with_ulps = reference_dtype is dtype and dtype is not None and has_ulps(dtype)
        is_compared = self._count > 0
        shown = channels.shown()
        limits = None
        if shown is not None and not self._tolerance.is_given:
            expected = noise.along(shown.axis, shown.count.size) if noise else None
            limits = channel_limits(shown, self._tolerance, expected)
        return output_diff.OutputDiff(
            name=self._name,
            reference_dtype=reference_dtype,
            dtype=dtype,
            shapes=tuple(self._shapes),
            samples=self._count,
            tolerance=self._tolerance,
            reasons=tuple(reasons),
            notices=tuple(self._notices(nothing)),
            figures=output_diff.figures_of(self._errors) if is_compared else None,
            errors=tuple(map(int, self._errors.errors)) if is_compared else (),
            zero_errors=self._errors.zero_errors,
            ulps=tuple(map(int, self._errors.ulps)) if is_compared and with_ulps else (),
            channels=output_diff.channels_of(shown, limits) if shown is not None else None,
            ranks=self._ranks,
            expected_noise=noise,
            error_limit=self._error_limit(noise),
            astray=self._nearest.astray if self._nearest.samples else None,
            told_apart=self._nearest.samples or None,
        )

    def _error_limit(self, noise: ExpectedNoise | None) -> float | None:
        errors, dtype = self._errors, self._dtypes[0]
        scale = errors.moments.scale
        if self._tolerance.is_given or not scale or dtype is None:
            return None
        if kind_of(dtype) not in ("float", "complex"):
            return None
        limits = whole_limits(errors.moments, errors.low, errors.high, self._tolerance, noise)
        return float(limits.rmse) / scale

    def _nothing(self, noise: ExpectedNoise | None) -> str | None:
        """Return why no element of the output shows anything, if none does."""
        errors, dtype = self._errors, self._dtypes[0]
        if not self._count or dtype is None:
            return None
        if not errors.elements:
            return f"{self._name} is empty in every sample"
        if errors.shared_nonfinite == errors.elements:
            return f"{self._name} is NaN or infinite in every element, on both sides"
        if kind_of(dtype) != "float" or self._tolerance.is_given or errors.moments.is_constant:
            return None
        # all values are so small that only the resolution excuses their error
        limits = whole_limits(errors.moments, errors.low, errors.high, self._tolerance, noise)
        if limits.hidden and (errors.moments.rmse or 0.0) > limits.unexcused:
            return (
                f"every value of {self._name} is below what {self._tolerance.name.upper()} "
                f"resolves ({errors.low:.3g} … {errors.high:.3g})"
            )
        return None

    def _notices(self, nothing: str | None) -> Iterator[Notice]:
        if nothing is not None:
            yield Notice(
                "W-NOTHING-COMPARED",
                f"{nothing}: nothing was compared",
                {"elements": self._errors.elements},
            )
        reference_dtype, dtype = self._dtypes
        if self._count and reference_dtype is not dtype and reference_dtype and dtype:
            yield Notice(
                "W-OUTPUT-TYPE",
                f"{self._name} is {dtype.value}, {reference_dtype.value} in the "
                "reference; compared by value",
                {"dtype": dtype.value, "reference": reference_dtype.value},
            )
        ranks = self._ranks
        if ranks is not None and ranks.top1 < ranks.rows:
            yield Notice(
                "W-BEST-CLASS",
                f"{self._name}: the best class differs in "
                f"{ranks.rows - ranks.top1:,} of {ranks.rows:,} items",
                {"top1": ranks.top1, "top5": ranks.top5, "items": ranks.rows},
            )
        moments, limit = self._errors.moments, self._tolerance.error_to_spread
        count = moments.count
        is_wide = limit is not None and limit > (self._tolerance.systematic_slope or 0.0)
        if is_wide and 0 < count < FEWEST_ELEMENTS:
            yield Notice(
                "W-FEW-ELEMENTS",
                f"{self._name} has {count} element{'' if count == 1 else 's'} over all "
                "samples: a wrong scale looks like rounding; more samples distinguish them",
                {"elements": count},
            )
        is_float = reference_dtype is not None and has_ulps(reference_dtype)
        if is_float and count > 1 and moments.is_constant:
            yield Notice(
                "W-CONSTANT-OUTPUT",
                f"{self._name} has one value in every element of every sample of the "
                "reference: inputs do not reach it, and agreement shows little",
                {"elements": count},
            )
        if accepts_noise(self._errors, self._tolerance):
            yield Notice(
                "W-TOLERANCE-LOOSE",
                f"the tolerance given for {self._name} would also pass the reference "
                "with its elements in another order: it shows nothing",
                {"control_mismatched": self._errors.control_mismatched},
            )


def _difference(
    name: str, sample: int, a: TensorValues | None, b: TensorValues | None
) -> output_diff.OutputReason | None:
    """Return why two tensors cannot be compared element by element, if they cannot."""
    if a is None or b is None:
        return output_diff.OutputReason(
            code="missing" if b is None else "extra",
            message=f"{'this side' if b is None else 'the reference'} has no output {name}",
            evidence={"sample": sample},
        )
    if a.shape != b.shape:
        return output_diff.OutputReason(
            code="shape",
            message=f"{dims_text(b.shape)}, {dims_text(a.shape)} in the reference "
            f"(sample {sample})",
            evidence={"sample": sample, "shape": list(b.shape), "reference": list(a.shape)},
        )
    if kind_of(a.dtype) != kind_of(b.dtype):
        return output_diff.OutputReason(
            code="type",
            message=f"{b.dtype.value}, {a.dtype.value} in the reference",
            evidence={"dtype": b.dtype.value, "reference": a.dtype.value},
        )
    return None
