"""Jobs of two sets of runs, each with its counterpart."""

from collections.abc import Callable, Collection, Sequence
from typing import Literal, TypeAlias

from enginescope.analysis.verdicts.comparability import Difference
from enginescope.analysis.verdicts.job_identity import JobIdentity, JobRuns
from enginescope.core.record import Record, replace

How: TypeAlias = Literal["in turn", "same", "renamed", "altered"]

#: Fields whose names are not the words for saying what differs.
_FIELDS = {
    "inputs": "input shapes",
    "in_flight": "queries in flight",
    "cuda_graph": "CUDA graph",
    "spin_wait": "waiting",
    "cold": "L2 cache",
    "rotate": "input buffers",
    "idle_ms": "pause between queries",
    "decode": "tokens per request",
    "call": "tensors of a request",
    "loop": "timing loop",
}


class JobPair(Record, frozen=True, kw_only=True, eq=False):
    """A job and its counterpart.

    Attributes:
        a, b: In the first and the second set; ``None``: only the other has it.
        how: ``in turn``: the two sides of a comparison, whatever they are. ``renamed``: the model's
            file is the same under another name. ``altered``: the only two of one model and backend
            that are left, which differ in what `changes` says.
        changes: Fields of the identity in which they differ.
    """

    a: JobRuns | None
    b: JobRuns | None
    how: How = "same"
    changes: tuple[Difference, ...] = ()

    @property
    def identity(self) -> JobIdentity:
        """The first set's, else the second's."""
        one = self.a or self.b
        assert one is not None
        return one.identity


def pair_jobs(
    a: Sequence[JobRuns], b: Sequence[JobRuns], across: Collection[str] = ()
) -> tuple[JobPair, ...]:
    """Give every job its counterpart.

    The other side of its comparison, else the same, else renamed, else the one of its model and
    backend that is left over.

    Args:
        across: Conditions whose difference is meant; they do not keep jobs apart.

    Returns:
        In the order of `a`, then what only `b` has.
    """
    pairs: list[JobPair] = []
    left_a, left_b = list(a), list(b)
    for how, fits, is_lenient in _rules(across):
        for one in list(left_a):
            found = [other for other in left_b if fits(one, other)]
            back = [rival for rival in left_a if found and fits(rival, found[0])]
            if not found or (is_lenient and (len(found) > 1 or len(back) > 1)):
                continue
            changes = _changes(one.identity, found[0].identity, across)
            pairs.append(JobPair(a=one, b=found[0], how=how, changes=changes))
            left_a.remove(one)
            left_b.remove(found[0])
    alone = [JobPair(a=one, b=None) for one in left_a] + [JobPair(a=None, b=one) for one in left_b]
    for single in alone:
        home = _home(single, pairs)
        if home is None:
            pairs.append(single)
        else:
            pair = pairs[home]
            a_and_b = {"a": _together(pair.a, single.a), "b": _together(pair.b, single.b)}
            pairs[home] = replace(pair, **a_and_b)
    identities = [job.identity for job in a]
    pairs.sort(key=lambda pair: identities.index(pair.a.identity) if pair.a else len(identities))
    return tuple(pairs)


def _home(alone: JobPair, pairs: Sequence[JobPair]) -> int | None:
    """Return the only pair that an unpaired job can be part of.

    A process that fails early records neither shapes nor mode. It can be of any job of its model,
    so one of the two to merge has to have failures only.
    """
    own = alone.a or alone.b
    assert own is not None
    fitting = [
        place
        for place, pair in enumerate(pairs)
        if (home := pair.a if alone.a else pair.b)
        and not (own.measured and home.measured)
        and not own.identity.differing(home.identity)
    ]
    return fitting[0] if len(fitting) == 1 else None


def _together(job: JobRuns | None, alone: JobRuns | None) -> JobRuns | None:
    """Merge the processes of two jobs; the identity is that of the measured one."""
    if job is None or alone is None:
        return job
    runs = sorted((*job.runs, *alone.runs), key=lambda one: (one.created, one.id))
    known = alone if alone.measured else job
    return JobRuns(identity=known.identity, runs=tuple(runs))


def _rules(across: Collection[str]) -> list[tuple[How, Callable[..., bool], bool]]:
    """Return the rules in their order, and whether each asks that there be one candidate only."""

    def same(one: JobRuns, other: JobRuns) -> bool:
        return not one.identity.differing(other.identity, across)

    def renamed(one: JobRuns, other: JobRuns) -> bool:
        differing = one.identity.differing(other.identity, across)
        return differing == ("model",) and bool(one.digests & other.digests)

    def altered(one: JobRuns, other: JobRuns) -> bool:
        first, second = one.identity, other.identity
        return (first.model, first.backend) == (second.model, second.backend)

    def in_turn(one: JobRuns, other: JobRuns) -> bool:
        return bool(one.comparisons) and one.comparisons == other.comparisons

    return [
        ("in turn", in_turn, True),
        ("same", lambda one, other: one.identity == other.identity, False),
        ("same", same, False),
        ("renamed", renamed, False),
        ("altered", altered, True),
    ]


def _changes(a: JobIdentity, b: JobIdentity, across: Collection[str]) -> tuple[Difference, ...]:
    return tuple(
        Difference(key=field, title=_FIELDS.get(field, field), a=_said(a, field), b=_said(b, field))
        for field in a.differing(b, across)
    )


def _said(one: JobIdentity, field: str) -> str:
    unsaid = {"precision": "default", "environment": "none", "options": "none"}
    return one.text(field) or unsaid.get(field, "unknown")
