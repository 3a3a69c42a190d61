"""If and Loop are entered: copies of both models in which the reference's decisions are fixed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from enginescope.core.record import Record
from enginescope.formats.onnx.onnx_unfold import DECISION, Decision, asking_onnx, unfolded_onnx
from enginescope.records.notice import Notice
from enginescope.records.run.job import Job
from enginescope.records.run.sample_set import Sample
from enginescope.services.bisection.intermediate_outputs import IntermediateOutputs, outputs_by_name

#: A body that ran more often is not entered: the copy would grow too large.
_MOST_ROUNDS = 32
#: Branches within branches that are entered.
_DEEPEST = 6


class Unfolded(Record, frozen=True, kw_only=True):
    """Both sides without If and Loop, and the samples that take the same branches."""

    job: Job
    reference: Job
    samples: tuple[Sample, ...]
    notices: tuple[Notice, ...] = ()


def unfolded(
    job: Job, reference: Job, samples: tuple[Sample, ...], answers: IntermediateOutputs
) -> Unfolded:
    """Return both sides with the branches that the reference takes, and notices on the others."""
    found = Unfolded(job=job, reference=reference, samples=samples)
    stays: set[str] = set()
    for depth in range(_DEEPEST):
        folder = answers.folder / f"unfolded-{depth}"
        deeper = _one_level(found, answers, folder, stays)
        if deeper is None:
            break
        found = deeper
    return found


def _one_level(
    found: Unfolded, answers: IntermediateOutputs, folder: Path, stays: set[str]
) -> Unfolded | None:
    """Return both sides one level deeper; ``None``: there is nothing to enter."""
    by_sample = _decisions(found.reference, found.samples, answers, folder / "reference")
    first = by_sample[0]
    values = {
        number: one.value
        for number, one in enumerate(first)
        if one.node not in stays and (one.operator == "If" or 0 < one.value <= _MOST_ROUNDS)
    }
    if not values:
        return None
    notices = [*found.notices, *_on_branches(first, values)]
    stays.update(one.node for number, one in enumerate(first) if number not in values)
    kept = [sample for sample, one in zip(found.samples, by_sample, strict=True) if one == first]
    if len(kept) < len(found.samples):
        notices.append(_other_samples(len(found.samples) - len(kept), len(found.samples)))
    if found.job.backend.name.startswith("ort"):
        (own, *_) = _decisions(found.job, kept[:1], answers, folder / "side")
        if len(own) != len(first):
            return None
        notices += _on_departures(first, own)
    jobs = [
        _with_model(job, unfolded_onnx(Path(job.subject.path or ""), values, folder / name))
        for job, name in ((found.job, "side-model"), (found.reference, "reference-model"))
    ]
    return Unfolded(job=jobs[0], reference=jobs[1], samples=tuple(kept), notices=tuple(notices))


def _decisions(
    job: Job, samples: Sequence[Sample], answers: IntermediateOutputs, folder: Path
) -> list[tuple[Decision, ...]]:
    """Return what each If and Loop does, for each sample."""
    copy, nodes = asking_onnx(Path(job.subject.path or ""), folder / "asking")
    if not nodes:
        return [() for _ in samples]
    answers.copied(job, copy, folder / "answers", tuple(samples))
    found = []
    for at in range(len(samples)):
        held = outputs_by_name(folder / "answers", at)
        values = [
            int(held[f"{DECISION}{number}"].data.reshape(-1)[0]) for number in range(len(nodes))
        ]
        found.append(
            tuple(
                Decision(node=name, operator=operator, value=value)
                for (name, operator), value in zip(nodes, values, strict=True)
            )
        )
    return found


def _with_model(job: Job, model: Path) -> Job:
    subject = msgspec.structs.replace(job.subject, path=str(model), sha256=None)
    return msgspec.structs.replace(job, subject=subject)


def _branch(one: Decision) -> str:
    return "then-branch" if one.value else "else-branch"


def _on_branches(decisions: Sequence[Decision], values: dict[int, int]) -> list[Notice]:
    notices = []
    for number, one in enumerate(decisions):
        if one.operator == "If":
            other = "else-branch" if one.value else "then-branch"
            message = (
                f"{one.node} takes its {_branch(one)} in these samples; its {other} did not run "
                "and was not compared"
            )
        elif number in values:
            message = f"{one.node} was compared round by round: {one.value:,}"
        else:
            message = f"{one.node} was not entered: it runs {one.value:,} rounds"
        if number in values:
            notices.append(Notice(code="I-BRANCH", message=message, level="info"))
        else:
            notices.append(Notice(code="W-NOT-ENTERED", message=message))
    return notices


def _on_departures(reference: Sequence[Decision], side: Sequence[Decision]) -> list[Notice]:
    return [
        Notice(
            code="W-OTHER-BRANCH",
            message=f"{ours.node} decides otherwise in the side: {theirs.value}, and "
            f"{ours.value} in the reference; both were compared as the reference decides",
        )
        for ours, theirs in zip(reference, side, strict=True)
        if ours.value != theirs.value
    ]


def _other_samples(count: int, of: int) -> Notice:
    return Notice(
        code="W-OTHER-BRANCH",
        message=f"{count} of {of} samples take other branches than the first and were left out",
    )
