"""Find how an error grows through a model, at which tensor it starts, and what its cause is.

Errors do not grow monotonically: a ReLU hides them, a sigmoid squashes an overflow. The start is
therefore the tensor whose error is largest in proportion to the errors of its inputs, and not the
first tensor beyond a limit. The search ends when everything between that tensor and its inputs has
been looked at.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from enginescope.analysis.bisection.tensor_pairs import TensorError, TensorPair
from enginescope.core.record import Record, replace
from enginescope.judge.notice import Notice

#: Share of the limit from which on an error counts as passed on by an operator.
CARRIED = 0.1

#: Each tensor looked at, with its error as a share of its limit; ``None``: could not be compared.
Seen = Mapping[str, float | None]


def departure(share: float, inputs: float) -> float:
    """Return an error in proportion to that of its inputs; both are shares of their limits."""
    return 0.0 if math.isinf(inputs) else share / max(inputs, CARRIED)


class Bisection:
    """A search over tensors in an order in which they can be computed.

    Args:
        most: Tensors looked at in one round.
    """

    def __init__(self, pairs: Sequence[TensorPair], most: int) -> None:
        self._order = [pair.tensor for pair in pairs]
        self._place = {name: at for at, name in enumerate(self._order)}
        self._parents = {pair.tensor: pair.parents for pair in pairs}
        self._ends = {pair.tensor for pair in pairs if pair.is_end}
        self._most = most

    def next(self, seen: Seen) -> tuple[str, ...]:
        """Return what to look at next; nothing: the search is over."""
        if not seen:
            inner = [name for name in self._order if name not in self._ends]
            chosen = {*self._spread(inner), *self._ends}
            return tuple(sorted(chosen, key=self._place.__getitem__))
        start = self.start(seen)
        if start is None:
            return ()
        return self._spread([name for name in self.before(start, seen)[1] if name not in seen])

    def start(self, seen: Seen) -> str | None:
        """Return the tensor that departs most, of those whose error reaches a failing output.

        Where no output is over its limits: of all tensors over theirs.
        """
        over = {name for name, share in seen.items() if share is not None and share > 1}
        among = self.reaching(seen) or over
        order = sorted(among, key=self._place.__getitem__)
        return max(order, key=lambda name: self.departure(name, seen), default=None)

    def departure(self, tensor: str, seen: Seen) -> float:
        """Return a tensor's error in proportion to the largest error of its inputs."""
        inputs = (seen[name] or 0.0 for name in self.before(tensor, seen)[0])
        return departure(seen[tensor] or 0.0, max(inputs, default=0.0))

    def reaching(self, seen: Seen) -> set[str]:
        """Return tensors whose error reaches an output that is over its limits."""
        found: set[str] = set()
        queue = [name for name in self._ends if (seen.get(name) or 0.0) > 1]
        while queue:
            name = queue.pop()
            if name not in found:
                found.add(name)
                inputs = self.before(name, seen)[0]
                queue += [tensor for tensor in inputs if (seen[tensor] or 0.0) > CARRIED]
        return found

    def before(self, tensor: str, seen: Seen) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the nearest tensors before a tensor that were compared, and those between."""
        compared: set[str] = set()
        passed: set[str] = set()
        queue = list(self._parents[tensor])
        while queue:
            name = queue.pop()
            if seen.get(name) is not None:
                compared.add(name)
            elif name not in passed:
                passed.add(name)
                queue += self._parents[name]
        place = self._place.__getitem__
        return tuple(sorted(compared, key=place)), tuple(sorted(passed, key=place))

    def _spread(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return as many as a round may look at, evenly spread, the last among them."""
        count = len(names)
        if count <= self._most:
            return tuple(names)
        step = count / self._most
        return tuple(names[int((at + 1) * step) - 1] for at in range(self._most))


#: ``departs``: its error is far larger than its inputs'. ``grows``: little by little, and nowhere
#: much. ``overflow``: the reference holds more than the side's type can. ``scale``: a quantizer's
#: scale or zero point does not fit. ``not-finite``: NaN or infinite for another reason. ``unlike``:
#: another shape. ``within``: no tensor is over its limits. ``gone``: with tensors marked as outputs
#: the outputs are right. ``unpaired``: there is no tensor to look at.
Cause: TypeAlias = Literal[
    "departs", "grows", "overflow", "scale", "not-finite", "unlike", "within", "gone", "unpaired"
]


class BeyondRange(Record, frozen=True, kw_only=True):
    """A tensor of the reference that the side's type cannot hold.

    Attributes:
        node, operator: What reads the weight, or computes the activation, in the side.
        peak: Largest magnitude in the reference.
    """

    tensor: str
    kind: Literal["weight", "activation"]
    node: str
    operator: str
    peak: float


class GrowthStep(Record, frozen=True, kw_only=True):
    """A tensor on the way from the inputs to the outputs.

    Attributes:
        position: Among all tensors that both sides have, from 0, in an order in which they can be
            computed.
        inputs: The nearest tensors looked at that it is computed from.
        inputs_error: The largest error of those; 0 where it is computed from the model's inputs
            alone, infinite where one of them is not finite, ``None`` where one has no figure.
        not_compared: Tensors between it and those, or the model's inputs.
        reaches_output: Whether its error is handed on, all the way, to an output that is over its
            limits.
        stored_error: The error of the reference's own values, stored in the side's type; ``None``:
            not known.
        own_error: Its error where its maker is given the reference's values; infinite where that
            gives NaN or infinities; ``None``: not measured.
        model_error: The same in FP32, where another model than the reference's was converted.
    """

    pair: TensorPair
    error: TensorError
    position: int
    inputs: tuple[str, ...] = ()
    inputs_error: float | None = 0.0
    inputs_over: bool = False
    not_compared: tuple[str, ...] = ()
    reaches_output: bool = False
    stored_error: float | None = None
    own_error: float | None = None
    model_error: float | None = None

    @property
    def tensor(self) -> str:
        """The pair's name: the reference's name of the tensor, if it has a tensor of its own."""
        return self.pair.tensor

    @property
    def starts(self) -> bool:
        """Whether it is over its limits and nothing that it is computed from is."""
        return self.error.over is not None and not self.inputs_over

    @property
    def departure(self) -> float:
        """What its node adds: its own error where that is measured, else that beyond its inputs'.

        Infinite where the node makes NaN or infinities.
        """
        if self.own_error is not None:
            return self.own_error
        if self.error.odd or self.error.over == "shape":
            return math.inf if self.inputs_error != math.inf else 0.0
        return max((self.error.error or 0.0) - (self.inputs_error or 0.0), 0.0)


class Bisected(Record, frozen=True, kw_only=True):
    """Where a side departs from its reference.

    Attributes:
        tolerance: The row whose limits tensors are checked against.
        limit, peak_limit: Most RMSE ÷ spread, and most error of an element ÷ spread.
        largest: The largest finite number of the side's type, where it is a narrow one.
        steps: Of the tensors looked at.
        tensors: Floating tensors that both sides compute.
        alone: Those of the side that the reference has no counterpart of.
        rounds: Times that a marked copy of the side was built or loaded.
        first: The tensor at which the error starts.
        overflowing: The tensor that the side's type cannot hold.
        beside: The tensor of another start: an overflow that the converted reference has too.
        beyond: Weights and activations that the side's type cannot hold, from the reference's run
            alone.
        not_compared: Tensors that the side or the reference did not return.
        optimisation: How the marked copies were optimized, in words.
    """

    side: str
    reference: str
    tolerance: str
    limit: float | None
    peak_limit: float | None
    largest: float | None = None
    samples: tuple[str, ...] = ()
    steps: tuple[GrowthStep, ...] = ()
    tensors: int = 0
    alone: int = 0
    rounds: int = 0
    first: str | None = None
    cause: Cause = "within"
    overflowing: str | None = None
    beside: str | None = None
    beyond: tuple[BeyondRange, ...] = ()
    not_compared: tuple[str, ...] = ()
    optimisation: str = ""
    notices: tuple[Notice, ...] = ()

    def step(self, tensor: str | None) -> GrowthStep | None:
        """Return the step of a tensor."""
        return next((step for step in self.steps if step.tensor == tensor), None)

    @property
    def first_step(self) -> GrowthStep | None:
        """Where the error starts."""
        return self.step(self.first)

    @property
    def first_not_finite(self) -> GrowthStep | None:
        """The first tensor with NaN or infinities that the reference does not have."""
        return next((step for step in self.steps if step.error.odd), None)

    @property
    def starts(self) -> tuple[GrowthStep, ...]:
        """Every tensor over its limits that nothing over them leads to."""
        return tuple(step for step in self.steps if step.starts)

    @property
    def is_complete(self) -> bool:
        """Whether every tensor that both sides have was looked at."""
        return len(self.steps) >= self.tensors and not self.not_compared


def growth_of(
    pairs: Sequence[TensorPair], errors: Mapping[str, TensorError]
) -> tuple[GrowthStep, ...]:
    """Return the tensors that were compared, in order, each with what it is computed from."""
    search = Bisection(pairs, most=len(pairs) or 1)
    seen = {name: error.share for name, error in errors.items()}
    reaching = search.reaching(seen)
    by_name = {pair.tensor: pair for pair in pairs}
    steps = []
    for at, pair in enumerate(pairs):
        if pair.tensor not in errors:
            continue
        inputs, passed = search.before(pair.tensor, seen)
        between = [*pair.unpaired]
        for name in passed:
            between += [*by_name[name].unpaired, by_name[name].candidate]
        figures = [errors[name].figure for name in inputs]
        known = [figure for figure in figures if figure is not None]
        is_known = len(known) == len(figures) and (bool(figures) or not between)
        step = GrowthStep(
            pair=pair,
            error=errors[pair.tensor],
            position=at,
            inputs=inputs,
            inputs_error=max(known, default=0.0) if is_known else None,
            inputs_over=any(errors[name].over for name in inputs),
            not_compared=tuple(dict.fromkeys(between)),
            reaches_output=pair.tensor in reaching,
        )
        steps.append(step)
    return tuple(steps)


def steepest(steps: Sequence[GrowthStep], count: int) -> tuple[GrowthStep, ...]:
    """Return the steps whose nodes add most to the error, the largest first."""
    finite = [step for step in steps if step.error.error is not None and step.departure > 0]
    return tuple(sorted(finite, key=lambda step: step.departure, reverse=True)[:count])


def telling_steps(found: Bisected) -> tuple[GrowthStep, ...]:
    """Return the start with its inputs and what follows it, other starts, and the outputs.

    Where there is no start, the steps that add most.
    """
    first, odd = found.first_step, found.first_not_finite
    steps = [step for step in found.steps if step.pair.is_output][:3]
    steps += [odd] if odd else []
    if first is None:
        steps += steepest(found.steps, 4)
    else:
        behind = [step for step in found.steps if step.position > first.position]
        steps += [step for step in found.steps if step.tensor in first.inputs[-3:]]
        steps += filter(None, (first, found.step(found.overflowing), found.step(found.beside)))
        steps += [step for step in behind if step.reaches_output][:4]
        steps += found.starts[:4]
    by_place = {step.position: step for step in steps}
    return tuple(by_place[place] for place in sorted(by_place))


#: An operator whose error is at most so many times its inputs' has passed it on.
_PASSED_ON = 4.0


def started(found: Bisected) -> Bisected:
    """Return what was found with the tensor at which the error starts, and its cause.

    The start is the tensor whose node adds the largest error, of those whose error reaches an
    output that is over its limits; where no output is, of those over their own. Where nodes' own
    errors are known, these decide. A node that is wrong in FP32 comes before what the side's type
    alone makes wrong: the converted reference has that too.
    """
    found, limit = replace(found, steps=_traced(found.steps)), found.limit or 0.0
    # tensors whose right values the side's type cannot hold: too large, or too small
    unstorable = {one.tensor for one in found.beyond if one.kind == "activation"}
    unstorable |= {step.tensor for step in found.steps if (step.stored_error or 0.0) > limit}
    loud = _harmful(found, unstorable)
    among = _candidates(found, unstorable - loud, loud)
    if found.cause == "gone" and not among:
        return found
    by_name = {step.tensor: step for step in found.steps}

    def added(step: GrowthStep) -> float:
        own = step.own_error
        if step.tensor in loud:
            own = step.stored_error if step.stored_error is not None else math.inf
        elif not loud.isdisjoint(step.inputs):  # wrong because of what it is given
            return 0.0
        if own is not None:
            # a runtime that computes in a wider type does not make all of a finite error
            seen = math.inf if step.error.odd else step.error.error or 0.0
            return min(own, seen) if step.reaches_output and math.isfinite(own) else own
        inputs = (by_name[name].error.share for name in step.inputs)
        return departure(step.error.share, max(inputs, default=0.0))

    first = max(among, key=added, default=None)
    cause, overflowing = cause_of(found, first)
    beside = None
    differing = [step for step in among if (step.model_error or 0.0) > limit]
    if differing:
        if first and first not in differing and cause == "overflow":
            beside = first.tensor
        first = max(differing, key=lambda step: step.model_error or 0.0)
        cause = "unlike" if first.error.over == "shape" else "departs"
        overflowing = overflowing if beside else None
    name = first.tensor if first else None
    return replace(found, first=name, cause=cause, overflowing=overflowing, beside=beside)


def _traced(steps: tuple[GrowthStep, ...]) -> tuple[GrowthStep, ...]:
    """Return the steps, with the trail of an error that no input carries and its node does not add.

    Such an error comes through an input whose large values hide it: scores after a mask of −10,000
    are added have the mask's scale.
    """
    by_name = {step.tensor: step for step in steps}
    reaching = {step.tensor for step in steps if step.reaches_output}
    for step in reversed(steps):
        if step.tensor not in reaching:
            continue
        carrying = {name for name in step.inputs if by_name[name].error.share > CARRIED}
        own, error = step.own_error, step.error.error
        if not carrying and own is not None and error and own * _PASSED_ON <= error:
            carrying = set(step.inputs)
        reaching |= carrying
    return tuple(replace(step, reaches_output=step.tensor in reaching) for step in steps)


def _candidates(found: Bisected, harmless: set[str], loud: set[str]) -> list[GrowthStep]:
    """Return the tensors of which one is the start, in order.

    Where no tensor's error reaches a failing output in the marked run: those over their limits
    there, and those whose node is wrong by itself.
    """
    reaching = {step.tensor for step in found.steps if step.reaches_output}
    for step in reversed(found.steps):  # a runtime may pass a value on before it stores it
        if step.tensor in reaching:
            reaching.update(loud.intersection(step.inputs))
    steps = [step for step in found.steps if step.tensor not in harmless]
    if reaching:
        return [step for step in steps if step.tensor in reaching]
    is_gone, limit = found.cause == "gone", found.limit or 0.0
    return [
        step
        for step in steps
        if step.tensor in loud
        or (step.error.over and not is_gone)
        or (step.own_error or 0.0) > limit
    ]


def _harmful(found: Bisected, unstorable: set[str]) -> set[str]:
    """Return tensors that the side's type cannot hold and of which a reader is wrong.

    The others are harmless: numbers that stand for minus infinity in a mask become 0 in a softmax.
    """
    readers: dict[str, list[GrowthStep]] = {}
    for step in found.steps:
        for name in step.inputs:
            readers.setdefault(name, []).append(step)
    over = {step.tensor for step in found.steps if step.error.over} - unstorable
    harmful: set[str] = set()

    def is_wrong(step: GrowthStep) -> bool:
        """Whether a node is wrong, given the reference's inputs in the side's type.

        Where its own error is not known: whether what it reads leaves its error unexplained.
        """
        if step.tensor in unstorable:
            return step.tensor in harmful
        if step.own_error is not None:
            return not step.own_error <= (found.limit or 0.0)
        return bool(step.error.odd or (step.error.over and over.isdisjoint(step.inputs)))

    for step in reversed(found.steps):
        if step.tensor in unstorable:
            behind = readers.get(step.tensor, [])
            if not behind or any(map(is_wrong, behind)):
                harmful.add(step.tensor)
    return harmful


def cause_of(found: Bisected, step: GrowthStep | None) -> tuple[Cause, str | None]:
    """Return why the error starts at a step, and the tensor that overflows, if one does."""
    if step is None:
        return "within" if found.steps else "unpaired", None
    if step.error.over == "shape":
        return "unlike", None
    loud = {one.tensor for one in found.beyond if one.kind == "activation"}
    beyond = (one for one in found.beyond if one.node == step.pair.node)
    weights = (one.tensor for one in beyond if one.kind == "weight")
    # a value may be passed on before it is stored: then its reader is the first to show it
    overflowing = next((name for name in (*step.inputs, step.tensor) if name in loud), None)
    overflowing = next(weights, None) or overflowing
    if overflowing is not None:
        return "overflow", overflowing
    if step.error.over == "not-finite" or step.own_error == math.inf:
        return "not-finite", None
    if step.pair.operator in ("QuantizeLinear", "DequantizeLinear"):
        return "scale", None
    error, before, own = step.error.error or 0.0, step.inputs_error or 0.0, step.own_error
    is_passed_on = before > 0 and error <= _PASSED_ON * before < math.inf
    if own is not None:
        is_passed_on = own * _PASSED_ON <= min(error, found.limit or math.inf)
    return ("grows" if is_passed_on else "departs"), None
