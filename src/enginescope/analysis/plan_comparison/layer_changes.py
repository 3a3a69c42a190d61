"""Changes between layers that do the same work in two plans, and how they explain the times."""

from collections import Counter
from collections.abc import Sequence
from enum import Enum
from typing import Literal

from enginescope.analysis.layers.layer_table import tactic_family
from enginescope.analysis.layers.reformats import is_reformat
from enginescope.core.record import Record
from enginescope.core.units import sum_known
from enginescope.judge.units import shape_text
from enginescope.records.plan.plan import Evidence, Layer
from enginescope.records.tensor import Tensor

What = Literal["shapes", "batch", "precision", "tactic", "format", "kind"]


class Relation(Enum):
    """How layers of A and of B stand to each other."""

    PAIR = "pair"
    SPLIT = "split"
    MERGED = "merged"
    REGROUPED = "regrouped"
    ONLY_A = "only_a"
    ONLY_B = "only_b"


class Change(Record, frozen=True, kw_only=True):
    """One property that differs, with what it is on either side."""

    what: What
    a: str
    b: str


class LayersSide(Record, frozen=True, kw_only=True):
    """The layers of one plan in a pair or a group: one as a rule.

    Attributes:
        layers: `Layer.index` of each.
        inputs, outputs: What crosses the border of the group.
        time_ms: Sum over those that have a time.
    """

    layers: tuple[int, ...]
    names: tuple[str, ...]
    types: tuple[str, ...]
    subtypes: tuple[str | None, ...]
    tactics: tuple[str | None, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    onnx_nodes: tuple[str, ...] = ()
    time_ms: float | None = None

    @property
    def name(self) -> str:
        """All names."""
        return " + ".join(self.names)

    @property
    def type(self) -> str:
        """All types, each once, with how many there are."""
        counts = Counter(self.types)
        return " + ".join(f"{n} {one}" if n > 1 else one for one, n in counts.items())

    @property
    def tactic(self) -> str | None:
        """All tactics' names; ``None`` if none has one."""
        return " + ".join(tactic or "?" for tactic in self.tactics) if any(self.tactics) else None

    @property
    def precision_in(self) -> str | None:
        """Type of the first input."""
        return _dtype(self.inputs[0]) if self.inputs else None

    @property
    def precision_out(self) -> str | None:
        """Type of the first output."""
        return _dtype(self.outputs[0]) if self.outputs else None

    @property
    def precision(self) -> str | None:
        """``"FP16"``, or ``"FP32 → INT8"`` where input and output differ."""
        before, after = self.precision_in, self.precision_out
        if before == after or before is None or after is None:
            return before or after
        return f"{before} → {after}"


class ComparedLayers(Record, frozen=True, kw_only=True):
    """Layers of A and the layers of B that do the same work, or layers without a counterpart.

    Attributes:
        a, b: ``None``: that plan has no counterpart.
        evidence: Why they are taken for each other's counterpart.
        score: How far they agree; comparable within one kind of evidence.
        changes: What differs.
        difference_ms: What they add to the difference of the plans, B − A: a side without layers
            adds nothing to its plan. ``None`` where nothing is timed.
        share_pct: Of the whole difference, with its sign: below 0 where it works against it.
    """

    relation: Relation
    a: LayersSide | None
    b: LayersSide | None
    evidence: Evidence | None = None
    score: float | None = None
    changes: tuple[Change, ...] = ()
    difference_ms: float | None = None
    share_pct: float | None = None

    @property
    def a_ms(self) -> float | None:
        """Time in A."""
        return self.a.time_ms if self.a else None

    @property
    def b_ms(self) -> float | None:
        """Time in B."""
        return self.b.time_ms if self.b else None

    @property
    def speedup(self) -> float | None:
        """A ÷ B: above 1 where B is faster."""
        return self.a_ms / self.b_ms if self.a_ms is not None and self.b_ms else None

    @property
    def name(self) -> str:
        """Name in A, else in B."""
        side = self.a or self.b
        assert side is not None
        return side.name

    @property
    def type(self) -> str:
        """Type in A, and in B where that is another."""
        both = (one.type for one in (self.a, self.b) if one)
        return " → ".join(dict.fromkeys(both))

    @property
    def is_changed(self) -> bool:
        """Whether anything but the time differs."""
        return bool(self.changes) or self.relation is not Relation.PAIR

    def change(self, what: What) -> Change | None:
        """Return the change of a property, or ``None``."""
        return next((change for change in self.changes if change.what == what), None)

    def is_of_type(self, kind: str) -> bool:
        """Whether a layer of either side is of that type."""
        return any(kind in one.types for one in (self.a, self.b) if one)

    def differs_by(self, threshold_pct: float) -> bool:
        """Whether the times differ by more than so much of A's, or only one side has a time."""
        if self.a_ms is None or self.b_ms is None:
            return bool(self.difference_ms)
        return abs(self.b_ms - self.a_ms) > threshold_pct / 100 * self.a_ms


def layers_side(layers: Sequence[Layer], time_ms: float | None) -> LayersSide:
    """Return `layers`, which are one side of a pair, as they are seen from outside."""
    inputs = [one for layer in layers for one in layer.inputs]
    outputs = [output for layer in layers for output in layer.outputs]
    is_group = len(layers) > 1
    written = {output.name for output in outputs} if is_group else ()
    read = {one.name for one in inputs} if is_group else ()
    return LayersSide(
        layers=tuple(one.index for one in layers),
        names=tuple(one.name for one in layers),
        types=tuple(one.type for one in layers),
        subtypes=tuple(one.subtype for one in layers),
        tactics=tuple(one.tactic_name for one in layers),
        inputs=tuple(one for one in inputs if one.name not in written),
        outputs=tuple(output for output in outputs if output.name not in read) or tuple(outputs),
        onnx_nodes=tuple(dict.fromkeys(node for layer in layers for node in layer.onnx_nodes)),
        time_ms=time_ms,
    )


def changes_between(a: LayersSide, b: LayersSide) -> tuple[Change, ...]:
    """Return what of two sides differs; what one of them does not know is not a difference.

    Tactics are compared without the hash that Myelin ends its kernels in. A side that names no
    tactic, where the other does, runs another.
    """
    texts: tuple[tuple[What, str | None, str | None], ...] = (
        ("shapes", *_shape_texts(a, b)),
        ("batch", _batch(a), _batch(b)),
        ("precision", a.precision, b.precision),
        ("format", *_format_texts(a, b)),
        ("kind", a.type, b.type),
    )
    found = [
        Change(what=what, a=left, b=right)
        for what, left, right in texts
        if left is not None and right is not None and left != right
    ]
    families = [[tactic_family(it) if it else None for it in side.tactics] for side in (a, b)]
    if families[0] != families[1]:
        none = "none named"
        found.append(Change(what="tactic", a=a.tactic or none, b=b.tactic or none))
    return tuple(found)


def _dtype(tensor: Tensor) -> str | None:
    return tensor.dtype.value if tensor.dtype else None


def _ends(side: LayersSide) -> tuple[Tensor, ...]:
    return (*side.inputs[:1], *side.outputs[:1])


def _batch(side: LayersSide) -> str | None:
    """First dimension of what is written, as far as tensors have one."""
    shapes = [output.shape for output in side.outputs[:1] if output.shape and len(output.shape) > 1]
    found = shapes[0][0] if shapes else None
    return None if found is None else str(found)


def _shape_texts(a: LayersSide, b: LayersSide) -> tuple[str | None, str | None]:
    """Shapes of first input and output without the batch; both ``None`` where they agree."""
    pairs = [
        (one.shape[1:], other.shape[1:])
        for one, other in zip(_ends(a), _ends(b), strict=False)
        if one.shape is not None and other.shape is not None
    ]
    if all(
        len(one) == len(other) and all(a == b for a, b in zip(one, other, strict=True) if a and b)
        for one, other in pairs
    ):
        return None, None
    sides = zip(*pairs, strict=True)
    before, after = (" → ".join(shape_text(it) or "scalar" for it in side) for side in sides)
    return before, after


def _format_texts(a: LayersSide, b: LayersSide) -> tuple[str | None, str | None]:
    """Layouts of what both sides read and write; both ``None`` where they agree or are unknown."""
    alike = len(a.inputs) == len(b.inputs) and len(a.outputs) == len(b.outputs)
    left, right = ((*one.inputs, *one.outputs) if alike else _ends(one) for one in (a, b))
    known = [
        (one.layout.name, other.layout.name)
        for one, other in zip(left, right, strict=False)
        if one.layout is not None and other.layout is not None
    ]
    rows = {"linear", "NCHW", "NCDHW"}  # "linear" is row-major in whichever rank the tensor has
    if all(a == b or ("linear" in (a, b) and {a, b} <= rows) for a, b in known):
        return None, None
    return ", ".join(one for one, _ in known), ", ".join(other for _, other in known)


class Cause(Enum):
    """Why layers take another time; each layer has one, the first of these that applies."""

    ONE_SIDED = "one_sided"
    REFORMAT_LOST = "reformat_lost"
    REFORMAT_ADDED = "reformat_added"
    ONLY_A = "only_a"
    ONLY_B = "only_b"
    FUSION = "fusion"
    SHAPES = "shapes"
    BATCH = "batch"
    PRECISION = "precision"
    TACTIC = "tactic"
    FORMAT = "format"
    KIND = "kind"
    NOTHING = "nothing"
    OUTSIDE = "outside"


class Explanation(Record, frozen=True, kw_only=True):
    """Layers whose time differs for one reason.

    Attributes:
        cause: ``ONE_SIDED``: a time on one side only, though both have the layers. ``NOTHING``: no
            property differs, only the time. ``OUTSIDE``: times that belong to no layer that does
            work.
        kind: Type of the layers, in A and in B where that is another; ``None`` for `NOTHING`.
        detail: What it was and what it is: ``"FP32 → FP16"``.
        members: Positions in `LayerComparison.layers`.
        a_ms, b_ms: Their times added up.
        difference_ms: B − A.
        share_pct: Of the whole difference, with its sign.
    """

    cause: Cause
    kind: str | None = None
    detail: str | None = None
    members: tuple[int, ...] = ()
    a_ms: float | None
    b_ms: float | None
    difference_ms: float | None
    share_pct: float | None = None


_ALONE = {
    (Relation.ONLY_A, True): Cause.REFORMAT_LOST,
    (Relation.ONLY_B, True): Cause.REFORMAT_ADDED,
    (Relation.ONLY_A, False): Cause.ONLY_A,
    (Relation.ONLY_B, False): Cause.ONLY_B,
}


def explain(
    layers: Sequence[ComparedLayers],
    rest_ms: tuple[float | None, float | None],
    difference_ms: float | None,
) -> tuple[Explanation, ...]:
    """Return the reasons for `difference_ms`, the largest first; they add up to it.

    Args:
        layers: All of them.
        rest_ms: Times of either plan that belong to none of them.
        difference_ms: ``None``: a plan has no times; then the reasons with most layers go first.
    """
    groups: dict[tuple[Cause, str | None, str | None], list[int]] = {}
    for at, one in enumerate(layers):
        cause = cause_of(one)
        kind = None if cause is Cause.NOTHING else one.type
        groups.setdefault((cause, kind, _detail(one, cause)), []).append(at)
    found = []
    for (cause, kind, detail), members in groups.items():
        some = [layers[at] for at in members]
        own_ms = sum_known(layer.difference_ms for layer in some)
        explanation = Explanation(
            cause=cause,
            kind=kind,
            detail=detail,
            members=tuple(members),
            a_ms=sum_known(layer.a_ms for layer in some),
            b_ms=sum_known(layer.b_ms for layer in some),
            difference_ms=own_ms,
            share_pct=share_of(own_ms, difference_ms),
        )
        found.append(explanation)
    if difference_ms is not None and any(rest_ms):
        a_ms, b_ms = rest_ms
        own_ms = (b_ms or 0.0) - (a_ms or 0.0)
        share_pct = share_of(own_ms, difference_ms)
        outside = Explanation(
            cause=Cause.OUTSIDE, a_ms=a_ms, b_ms=b_ms, difference_ms=own_ms, share_pct=share_pct
        )
        found.append(outside)
    found.sort(key=lambda one: (one.kind or "", one.detail or ""))
    found.sort(key=lambda one: (-abs(one.difference_ms or 0.0), -len(one.members)))
    return tuple(found)


def cause_of(layers: ComparedLayers) -> Cause:
    """Return the first reason that applies."""
    if layers.relation in (Relation.ONLY_A, Relation.ONLY_B):
        side = layers.a or layers.b
        assert side is not None
        return _ALONE[layers.relation, is_reformat(*side.types, *side.subtypes)]
    if layers.difference_ms is not None and (layers.a_ms is None or layers.b_ms is None):
        return Cause.ONE_SIDED
    if layers.relation is not Relation.PAIR:
        return Cause.FUSION
    changed = {change.what for change in layers.changes}
    return next((cause for cause in Cause if cause.value in changed), Cause.NOTHING)


def share_of(difference_ms: float | None, whole_ms: float | None) -> float | None:
    """Return a part of the whole difference in percent; ``None`` where there is no difference."""
    # sums of the same times in another order differ by as much
    if difference_ms is None or whole_ms is None or abs(whole_ms) < 1e-9:
        return None
    return 100 * difference_ms / whole_ms


def _detail(layers: ComparedLayers, cause: Cause) -> str | None:
    """What changed, where a few words say it: tactics, formats and shapes are too many."""
    if cause not in (Cause.BATCH, Cause.PRECISION, Cause.FUSION):
        return None
    change = layers.change("batch" if cause is Cause.BATCH else "precision")
    if change is None:
        return None
    if " → " in change.a + change.b:
        return f"({change.a}) to ({change.b})"
    return f"{change.a} → {change.b}"
