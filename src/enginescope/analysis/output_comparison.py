"""Answers of one side against the reference's, sample by sample, in one pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from enginescope.analysis.answer_numbers import kind_of
from enginescope.analysis.channel_errors import ChannelErrors
from enginescope.analysis.element_comparison import compare_elements
from enginescope.analysis.element_errors import ElementErrors
from enginescope.analysis.farthest_sample import farthest
from enginescope.analysis.nearest_arrangement import NearestArrangement
from enginescope.analysis.nearest_reference import NearestReference
from enginescope.analysis.output_diff import (
    OutputDiff,
    SampleDiff,
    SideDiff,
    channels_of,
    figures_of,
)
from enginescope.analysis.output_tolerance import Tolerance
from enginescope.analysis.output_verdict import (
    FEWEST_ELEMENTS,
    OutputReason,
    accepts_noise,
    misplaced,
    reasons_of,
)
from enginescope.analysis.rank_agreement import RankAgreement, looks_like_scores, rank_agreement
from enginescope.analysis.ulp_distance import has_ulps
from enginescope.model.notice import Notice
from enginescope.model.tensor import DataType
from enginescope.model.tensor_values import TensorValues

#: Return the limits for an output of this name.
Tolerances = Callable[[str], Tolerance]
#: Different shapes of an output that are kept.
_MOST_SHAPES = 16


class SideComparison:
    """Adds up what one side's answers come to; holds no more than a few samples at a time.

    Parameters
    ----------
    label : str
        What the side is called.
    tolerances : callable
        Name of an output -> its limits.
    """

    def __init__(self, label: str, tolerances: Tolerances) -> None:
        self._label = label
        self._tolerances = tolerances
        self._outputs: dict[str, _Output] = {}
        self._samples: list[SampleDiff] = []

    def add(
        self,
        sample: int,
        name: str,
        reference: Sequence[TensorValues],
        candidate: Sequence[TensorValues],
    ) -> None:
        """Add one sample's answers; outputs belong together by name."""
        ours = {one.name: one for one in candidate}
        theirs = {one.name for one in reference}
        for one in reference:
            self._add_pair(sample, name, one.name, (one, ours.get(one.name)))
        for one in candidate:
            if one.name not in theirs:
                self._add_pair(sample, name, one.name, (None, one))

    def _add_pair(
        self,
        sample: int,
        name: str,
        output: str,
        pair: tuple[TensorValues | None, TensorValues | None],
    ) -> None:
        if output not in self._outputs:
            self._outputs[output] = _Output(output, self._tolerances(output))
        self._samples.append(self._outputs[output].add(sample, name, pair))

    def result(self) -> SideDiff:
        """Return what was added so far."""
        return SideDiff(
            label=self._label,
            outputs=tuple(one.result() for one in self._outputs.values()),
            samples=tuple(self._samples),
            worst=farthest(self._samples),
        )


class _Output:
    """One output over the samples."""

    def __init__(self, name: str, tolerance: Tolerance) -> None:
        self._name = name
        self._tolerance = tolerance
        self._errors = ElementErrors()
        self._channels = ChannelErrors()
        self._nearest = NearestReference()
        self._arranged = NearestArrangement()
        self._ranks: RankAgreement | None = None
        self._structure: dict[str, OutputReason] = {}
        self._shapes: dict[tuple[int, ...], None] = {}
        self._dtypes: tuple[DataType | None, DataType | None] = (None, None)
        self._count = 0

    def add(
        self, sample: int, name: str, pair: tuple[TensorValues | None, TensorValues | None]
    ) -> SampleDiff:
        """Add one sample's pair and return what it comes to."""
        a, b = pair
        self._dtypes = (a.dtype if a else self._dtypes[0], b.dtype if b else self._dtypes[1])
        reason = _difference(self._name, sample, a, b)
        shape = (a or b).shape if (a or b) is not None else None  # type: ignore[union-attr]
        if reason is not None or a is None or b is None:
            if reason is not None:
                self._structure.setdefault(reason.code, reason)
            return SampleDiff(
                sample=sample,
                name=name,
                output=self._name,
                shape=shape,
                figures=None,
                reason=reason.code if reason else None,
            )
        errors = self._compared(sample, a, b)
        broken = reasons_of(errors, self._tolerance, kind_of(a.dtype))
        return SampleDiff(
            sample=sample,
            name=name,
            output=self._name,
            shape=shape,
            figures=figures_of(errors),
            reason=broken[0].code if broken else None,
        )

    def _compared(self, sample: int, a: TensorValues, b: TensorValues) -> ElementErrors:
        errors = compare_elements(a, b, self._tolerance, sample)
        self._errors = self._errors + errors
        self._channels.add(a, b)
        self._nearest.add(sample, a, b)
        self._arranged.add(a, b)
        if looks_like_scores(a):
            self._ranks = (self._ranks or RankAgreement()) + rank_agreement(a, b)
        if len(self._shapes) < _MOST_SHAPES:
            self._shapes[a.shape] = None
        self._count += 1
        return errors

    def result(self) -> OutputDiff:
        """Return the output's figures and verdict."""
        reference_dtype, dtype = self._dtypes
        reasons = [*self._structure.values()]
        if self._count and reference_dtype is not None:
            kind = kind_of(reference_dtype)
            reasons += reasons_of(self._errors, self._tolerance, kind)
            reasons += misplaced(self._nearest, self._arranged)
        with_ulps = reference_dtype is dtype and dtype is not None and has_ulps(dtype)
        compared = self._count > 0
        return OutputDiff(
            name=self._name,
            reference_dtype=reference_dtype,
            dtype=dtype,
            shapes=tuple(self._shapes),
            samples=self._count,
            tolerance=self._tolerance,
            reasons=tuple(reasons),
            notices=tuple(self._notices()),
            figures=figures_of(self._errors) if compared else None,
            errors=_counts(self._errors.errors) if compared else (),
            zero_errors=self._errors.zero_errors,
            ulps=_counts(self._errors.ulps) if compared and with_ulps else (),
            channels=channels_of(self._channels) if compared else None,
            ranks=self._ranks,
            astray=self._nearest.astray if self._nearest.samples else None,
            told_apart=self._nearest.samples or None,
        )

    def _is_too_little(self) -> bool:
        """Whether limits that are wide hold for elements that are few."""
        limit = self._tolerance.error_to_spread
        is_wide = limit is not None and limit > (self._tolerance.systematic_slope or 0.0)
        return is_wide and 0 < self._errors.moments.count < FEWEST_ELEMENTS

    def _is_constant(self) -> bool:
        moments = self._errors.moments
        dtype = self._dtypes[0]
        is_float = dtype is not None and has_ulps(dtype)
        return is_float and moments.count > 1 and moments.is_constant

    def _notices(self) -> list[Notice]:
        made = []
        reference_dtype, dtype = self._dtypes
        if self._count and reference_dtype is not dtype and reference_dtype and dtype:
            made.append(
                Notice(
                    code="W-OUTPUT-TYPE",
                    message=f"{self._name} is {dtype.value}, {reference_dtype.value} in the "
                    "reference; compared by value",
                    evidence={"dtype": dtype.value, "reference": reference_dtype.value},
                )
            )
        ranks = self._ranks
        if ranks is not None and ranks.top1 < ranks.rows:
            made.append(
                Notice(
                    code="W-BEST-CLASS",
                    message=f"{self._name}: the best class is another in "
                    f"{ranks.rows - ranks.top1:,} of {ranks.rows:,} items",
                    evidence={"top1": ranks.top1, "top5": ranks.top5, "items": ranks.rows},
                )
            )
        if self._is_too_little():
            count = self._errors.moments.count
            made.append(
                Notice(
                    code="W-FEW-ELEMENTS",
                    message=f"{self._name} has {count} element{'' if count == 1 else 's'} over all "
                    "samples: a wrong scale cannot be told from rounding; more samples can",
                    evidence={"elements": count},
                )
            )
        if self._is_constant():
            made.append(
                Notice(
                    code="W-CONSTANT-OUTPUT",
                    message=f"{self._name} has one value in every element of every sample of the "
                    "reference: inputs do not reach it, and agreement shows little",
                    evidence={"elements": self._errors.moments.count},
                )
            )
        if accepts_noise(self._errors, self._tolerance):
            made.append(
                Notice(
                    code="W-TOLERANCE-LOOSE",
                    message=f"the tolerance given for {self._name} would also pass the reference "
                    "with its elements in another order: it shows nothing",
                    evidence={"control_mismatched": self._errors.control_mismatched},
                )
            )
        return made


def _counts(values: Sequence[int]) -> tuple[int, ...]:
    return tuple(int(one) for one in values)


def _difference(
    name: str, sample: int, a: TensorValues | None, b: TensorValues | None
) -> OutputReason | None:
    """Return why two tensors cannot be compared element by element, if they cannot."""
    if a is None or b is None:
        code, who = ("missing", "this side") if b is None else ("extra", "the reference")
        return OutputReason(
            code="missing" if code == "missing" else "extra",
            message=f"{who} has no output {name}",
            evidence={"sample": sample},
        )
    if a.shape != b.shape:
        return OutputReason(
            code="shape",
            message=f"{_dims(b.shape)}, {_dims(a.shape)} in the reference (sample {sample})",
            evidence={"sample": sample, "shape": list(b.shape), "reference": list(a.shape)},
        )
    if kind_of(a.dtype) != kind_of(b.dtype):
        return OutputReason(
            code="type",
            message=f"{b.dtype.value}, {a.dtype.value} in the reference",
            evidence={"dtype": b.dtype.value, "reference": a.dtype.value},
        )
    return None


def _dims(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape)) or "a scalar"
