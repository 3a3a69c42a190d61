"""The first page: how every job stands, which need a look, and what was asked last."""

import hashlib
import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Sequence, Set
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Literal, TypeAlias
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import Response

from enginescope.analysis.claims import run_claims
from enginescope.core.record import Record
from enginescope.core.units import format_bytes
from enginescope.judge.comparison.change_points import FEWEST_POINTS
from enginescope.judge.units import counted, format_ms, range_text, signed_pct
from enginescope.records.run.run import OutcomeKind
from enginescope.records.verdict.history import JobHistory, LevelChange
from enginescope.records.verdict.noise import NoiseFloor
from enginescope.render.base.facts import Facts
from enginescope.render.base.short_names import jobs_apart, outcome_word
from enginescope.render.verdicts import history_text
from enginescope.render.verdicts.noise_answer import noise_sentence
from enginescope.serve.kept_runs import Warnings
from enginescope.serve.list_views import WAIT_S, LiveLine, asked_of, page, page_number, places
from enginescope.serve.overview import SESSIONS, Overview, OverviewJob, Question
from enginescope.serve.result_pages import running_suites
from enginescope.store.archive import Store
from enginescope.store.machine_records import FLOORS
from enginescope.store.row import Filter, RunRow

_LINES = 100
#: The states of a job, in the order of the list, and what a sentence says of so many.
_STATES = {"look": "needs a look", "better": "faster", "unknown": "without a verdict"}
_STATES |= {"same": "unchanged", "unusable": "newest run not usable"}
#: Ends of the axis of changes, in percent: at least, and at most.
_LEAST_PCT, _MOST_PCT = 5.0, 100.0
#: Size of the axis and of a sparkline, in px, and the smallest range that fills one, as a share.
_WIDTH, _HEIGHT, _EDGE = 110.0, 22.0, 4.0
_LEAST_RANGE = 0.04

State = Literal["look", "better", "unknown", "same"]
#: When it was asked, its text, its page, its runs, and the answer.
QuestionLine: TypeAlias = tuple[str, str, str, str, str]
#: Name, outcome, and whether it fails.
Gate: TypeAlias = tuple[str, str, bool]
#: What is said of a machine on the first page.
_MACHINE_FACTS = ("GPU", "Processor", "Cores", "CPU governor", "Load average, 1 min", "Other load")


#: The newest sessions as a line, in px, and its changes: place, class and words.
Spark: TypeAlias = tuple[list[tuple[float, float]], list[tuple[float, str, str]]]


class JobLine(Record, frozen=True, kw_only=True):
    """A job in the list, and beside it once it is chosen; what is unknown is empty.

    Attributes:
        key: In the address of the page on which it is chosen.
        why: Of the state, in a sentence.
        place: GPU or processor.
        change_pct: Low end, estimate and high end; without an interval all alike.
        links: Address and text of pages on it.
        command: The newest run's, without folders.
        unusable: A second state, if the newest run is not usable.
    """

    key: str
    state: State
    word: str
    why: str
    model: str
    name: str
    place: str
    host: str
    links: tuple[tuple[str, str], ...]
    tags: tuple[str, ...] = ()
    latency: str = ""
    reach: tuple[str, ...] = ()
    change_pct: tuple[float, float, float] | None = None
    change_text: str = ""
    spark: Spark | None = None
    p99: str = ""
    memory: str = ""
    headroom: str = ""
    gate: Gate | None = None
    warnings: Warnings = Warnings()
    command: str = ""
    unusable: Literal["unusable", ""] = ""


class Axis(Record, frozen=True, kw_only=True):
    """The axis that all changes share, from −`limit_pct` to `limit_pct`."""

    limit_pct: float

    def px(self, change_pct: float) -> float:
        """Return the place of a change; one beyond an end is at that end."""
        inside = max(-1.0, min(1.0, change_pct / self.limit_pct))
        return round(_WIDTH / 2 + inside * (_WIDTH / 2 - _EDGE), 1)


def home(request: Request) -> Response:
    """Answer with the jobs that were asked for, one of them chosen, and the newest questions."""
    overview: Overview = request.app.state.overview
    overview.refresh(WAIT_S)
    left = overview.left  # once: it is read on while the page is made
    store: Store = request.app.state.kept.store
    rows: tuple[RunRow, ...] = request.app.state.rows.select(Filter())
    every = sorted(_lines(overview, rows), key=_rank)
    asked = asked_of(request, "model", "machine", "device", "tag", "state")
    fitting = [line for line in every if _fits(line, {**asked, "state": ""})]
    lines = every_line = [line for line in fitting if _fits(line, asked)]
    if "state" not in asked:  # the sentence counts those without a verdict, and leads to them
        lines = [line for line in lines if line.state != "unknown"] or lines
    number, query = page_number(request), tuple(asked.items())
    shown = lines[(number - 1) * _LINES : number * _LINES]
    picked = request.query_params.get("job")
    sizes = [max(map(abs, line.change_pct)) for line in shown if line.change_pct]
    broken: list[str] = []
    gates = [
        (result.at, f"gate {name}: {result.level}", f"/gate/{quote(name)}", "", result.text)
        for name, result in overview.gates.items()
    ]
    running = running_suites(store)
    return page(
        request,
        "home",
        here="home",
        counts=_counts(fitting, asked, is_whole=not left),
        total=len(rows),
        models=len(models := {row.model for row in rows}),
        elsewhere=sorted(models - {one.model for one in every}) if not left else [],
        last=rows[0].created if rows else None,
        overview=overview,
        left=left,
        asked=asked,
        machines=[*_machines(overview, FLOORS.usable(store.path, broken.append))],
        running=running,
        hosts=sorted({line.host for line in every if line.host}),
        devices=sorted({line.place for line in every if line.place}),
        states=_STATES,
        lines=shown,
        apart=jobs_apart([f"{line.model} · {line.name}" for line in shown]),
        picked=picked,
        chosen=next((one for one in every_line if one.key == picked), shown[0] if shown else None),
        folded=len(every_line) - len(lines),
        unfolded=f"/?{urlencode({**asked, 'state': 'unknown'})}",
        axis=Axis(limit_pct=min(_MOST_PCT, max(_LEAST_PCT, 1.1 * max(sizes, default=0.0)))),
        threshold_pct=max((job.history.threshold_pct for job in overview.jobs), default=0.0),
        width=_WIDTH,
        height=_HEIGHT,
        questions=[*gates, *map(_question_line, overview.questions)],
        seen=_seen(overview, running),
        notices=store.notices,
        broken=broken,
        **places("/", query, number, has_more=number * _LINES < len(lines)),
    )


def changes(request: Request) -> Response:
    """Answer an open page: whether the overview, or what runs, has changed since."""
    overview: Overview = request.app.state.overview
    overview.refresh(0)
    now = _seen(overview, running_suites(request.app.state.kept.store))
    is_new = request.query_params.get("seen") != now
    return Response(status_code=204, headers={"HX-Trigger": "changed"} if is_new else {})


def _seen(overview: Overview, running: Sequence[tuple[str, LiveLine]]) -> str:
    return " ".join((str(overview.version), *(line.seen for _, line in running)))


def _machines(
    overview: Overview, floors: Sequence[NoiseFloor]
) -> Iterator[tuple[str, str, Facts, str]]:
    newest = {
        job.newest.environment.host.name: job
        for job in sorted(overview.jobs, key=lambda one: one.newest.created)
    }
    for name, job in sorted(newest.items(), key=lambda one: one[0] or ""):
        key = job.newest.environment.comparable_key()
        own = [floor for floor in floors if floor.environment == key]
        noise = noise_sentence(own[-1]) if own else "Smallest detectable difference: not measured"
        facts = tuple(one for one in job.machine if one[0] in _MACHINE_FACTS)
        if name:
            yield name, job.newest.created, facts, noise


def _lines(overview: Overview, rows: Sequence[RunRow]) -> Iterator[JobLine]:
    """Yield a line for each job, and for each model, backend and batch that never succeeded."""
    newest: dict[tuple[str, str, int | None], RunRow] = {}
    for row in rows:
        newest.setdefault((row.model, row.backend, row.batch), row)
    bad = {key: row for key, row in newest.items() if row.outcome != OutcomeKind.OK.value}
    gates, known, models = _gate_rows(overview), set(), {row.model for row in rows}
    for job in overview.jobs:
        asked = job.newest.job
        key = (job.history.model, str(asked.backend), asked.workload.batch)
        known.add(key)
        yield _job_line(job, bad.get(key), gates, models - {job.history.model})
    read = overview.models
    for row in (row for key, row in bad.items() if key not in known and row.model in read):
        yield JobLine(
            key=row.id,
            state="unknown" if row.outcome == OutcomeKind.UNSUPPORTED.value else "look",
            word=outcome_word(row.outcome),
            why="no run succeeded",
            model=row.model,
            name=f"{row.backend} · batch {row.batch}" if row.batch is not None else row.backend,
            place=row.gpu or row.cpu or "",
            host=row.host or "",
            links=((f"/runs/{quote(row.id)}", "Newest run"), _runs_link(row.model)),
            tags=row.tags,
        )


def _job_line(
    job: OverviewJob, failed: RunRow | None, gates: dict[str, Gate], others: Set[str]
) -> JobLine:
    history, where = job.history, job.newest.environment
    point = history.points[-1]
    own = [gates[run] for one in history.points for run in one.runs if run in gates]
    gate = next((one for one in own if one[2]), own[-1] if own else None)
    state, word, why = _state(job, failed, gate)
    change: tuple[float, float, float] | None = None
    if (estimate := job.standing.estimate) is not None:
        ends = estimate.interval
        low, high = (ends.low, ends.high) if ends else (estimate.ratio, estimate.ratio)
        change = 100 * (low - 1), 100 * (estimate.ratio - 1), 100 * (high - 1)
    inputs = history.inputs if history.inputs and history.inputs not in history.case else None
    named = f"{history.model} {history_text.anchor(history)}"
    return JobLine(
        key=hashlib.sha256(named.encode()).hexdigest()[:10],
        state=state,
        word=word,
        why=why,
        model=history.model,
        name=" · ".join(filter(None, (history.backend, history.case, inputs))),
        place=history.place,
        host=where.host.name or "",
        links=tuple(_links(job, failed)),
        tags=point.tags,
        latency=format_ms(point.value),
        reach=history_text.reach_texts(history, point),
        change_pct=change,
        change_text=f"{signed_pct(change[1])} %" if change else "",
        spark=_spark(history),
        p99=run_claims.cell(job.p99, format_ms) if job.p99 else "",
        memory=format_bytes(round(job.memory)) if job.memory is not None else "",
        headroom=f"{job.headroom_pct:.0f} %" if job.headroom_pct is not None else "",
        gate=gate,
        warnings=job.warnings,
        command=_short(job.newest.command or "", others if state == "unknown" else ()),
        unusable="unusable" if job.usability and job.usability.verdict == "not usable" else "",
    )


def _links(job: OverviewJob, failed: RunRow | None) -> Iterator[tuple[str, str]]:
    history, change = job.history, job.standing.change
    newest = history.points[-1].runs[-1]
    if failed is not None and failed.created > job.newest.created:
        yield f"/runs/{quote(failed.id)}", "Newest run, failed"
    before = (change.at if change else len(history.points) - 1) - 1
    if before >= 0:
        runs = urlencode({"run": (history.points[before].runs[-1], newest)}, doseq=True)
        yield f"/compare?{runs}", f"Compare with the {'level' if change else 'session'} before"
    yield f"/runs/{quote(newest)}", "Newest run"
    anchor = history_text.anchor(history)
    yield f"/history?{urlencode({'model': history.model})}#{anchor}", "History"
    yield _runs_link(history.model)


def _runs_link(model: str) -> tuple[str, str]:
    return f"/runs?{urlencode({'model': model})}", "All runs"


def _state(job: OverviewJob, failed: RunRow | None, gate: Gate | None) -> tuple[State, str, str]:
    history, standing = job.history, job.standing
    change = standing.change
    if failed is not None and failed.created > job.newest.created:
        return "look", outcome_word(failed.outcome), "the newest run did not succeed"
    if standing.kind == "worse" and change is not None:
        return "look", "slower", _words(history, change)
    if gate is not None and gate[2]:
        return "look", "gate fails", f"gate {gate[0]}: {gate[1]}"
    if standing.kind == "perhaps" and change is not None:
        why = history_text.open_sentence(history, change)
        is_worse = change.is_worse
        return ("look", "perhaps slower", why) if is_worse else ("unknown", "perhaps faster", why)
    if standing.kind == "better" and change is not None:
        return "better", "faster", _words(history, change)
    limit = f"{history.threshold_pct:g} %"
    if standing.kind == "same":
        return "same", "unchanged", f"the newest sessions are within {limit} of their level"
    if standing.estimate is None:
        few = counted(len(history.points) - history.levels[-1].first, "session")
        why = f"a change of level shows in {FEWEST_POINTS} sessions or more"
        return "unknown", f"too few: {few}", why
    return "unknown", "too noisy", f"sessions vary too much to tell a change of {limit}"


def _words(history: JobHistory, change: LevelChange) -> str:
    """Return a change, its levels, and the commits before and after it where one is known."""
    commits = [history.points[at].commit for at in (change.at - 1, change.at)]
    names = " → ".join(one or "unknown" for one in commits)
    sentences = (history_text.change_sentence, history_text.levels_sentence)
    texts = [sentence(history, change) for sentence in sentences]
    return "; ".join(filter(None, (*texts, f"commit {names}" if any(commits) else None)))


def _spark(history: JobHistory) -> Spark | None:
    points = history.points[-SESSIONS:]
    if len(points) < 2:
        return None
    first = len(history.points) - len(points)
    values = [point.value for point in points]
    low, high = min(values), max(values)
    span = max(high - low, _LEAST_RANGE * high)
    top = (low + high + span) / 2
    step = (_WIDTH - 2 * _EDGE) / (len(points) - 1)
    tall = _HEIGHT - 2 * _EDGE
    line = [
        (round(_EDGE + at * step, 1), round(_EDGE + (top - value) / span * tall, 1))
        for at, value in enumerate(values)
    ]
    changes = []
    for change in (one for one in history.sure if one.at > first):
        kind = "worse" if change.is_worse else "better"
        changes.append(
            (round(_EDGE + (change.at - first - 0.5) * step, 1), kind, _words(history, change))
        )
    return line, changes


def _rank(line: JobLine) -> tuple[int, float, str, str]:
    size = abs(line.change_pct[1]) if line.change_pct else 0.0
    return [*_STATES].index(line.state), -size, line.model.lower(), line.name


def _fits(line: JobLine, asked: dict[str, str]) -> bool:
    return (
        asked.get("model", "").lower() in line.model.lower()
        and asked.get("machine", line.host) == line.host
        and asked.get("device", line.place) == line.place
        and (not asked.get("tag") or asked["tag"] in line.tags)
        and (not asked.get("state") or asked["state"] in (line.state, line.unusable))
    )


def _counts(
    lines: Sequence[JobLine], asked: dict[str, str], *, is_whole: bool
) -> list[tuple[str, str, str]]:
    """Return look, words and address of each count of the sentence; what needs a look first."""
    found: Counter[str] = Counter(state for line in lines for state in (line.state, line.unusable))
    is_sound = is_whole and not found["unknown"] and not found["unusable"]
    counts: list[tuple[str, str, str]] = []
    for state, words in _STATES.items():
        if found[state] or (state == "look" and is_sound):
            many = words.replace("needs", "need").replace("run", "runs")
            address = f"/?{urlencode({**asked, 'state': state})}"
            look = "bad" if state in ("look", "unusable") and found[state] else ""
            jobs = f"{found[state]:,} job{'s' * (found[state] > 1)}" if not counts else found[state]
            text = f"{jobs if found[state] else 'Nothing'} {many if found[state] > 1 else words}"
            counts.append((look, text, address))
    return counts


def _gate_rows(overview: Overview) -> dict[str, Gate]:
    """Return the gate that each current run is part of."""
    found: dict[str, Gate] = {}
    for name, result in overview.gates.items():
        for row in result.report.rows if result.report else ():
            fails = result.report is not None and result.report.fails(row)
            for run in row.current:
                if fails or run not in found:
                    found[run] = (name, row.outcome.value, fails)
    return found


def _question_line(question: Question) -> QuestionLine:
    newest, tag = question.runs[0], question.tag
    shared = set.intersection(*(set(row.tags) for row in question.runs))
    models = dict.fromkeys(row.model for row in question.runs)
    model = next(iter(models)) if len(models) == 1 else counted(len(models), "model")
    text = _short(question.command) if question.command else tag or f"{newest.origin} {model}"
    if question.is_suite:
        address = f"/suites/{quote(tag or '')}"
    elif question.answer is not None and tag is not None:
        address = f"/compare?{urlencode({'tag': tag})}"
    elif len(question.runs) == 1:
        address = f"/runs/{quote(newest.id)}"
    else:
        asked = {"model": newest.model} if len(models) == 1 else {}
        asked |= {"tag": tag or min(shared)} if tag or shared else {}
        address = f"/runs?{urlencode(asked)}"
    failed = sum(row.outcome != OutcomeKind.OK.value for row in question.runs)
    runs = counted(len(question.runs), "run") + (f", {failed} failed" if failed else "")
    return newest.created, text, address, runs, question.answer or _medians(question.runs)


def _medians(rows: Sequence[RunRow]) -> str:
    medians = sorted(row.median_ms for row in rows if row.median_ms is not None)
    if len(medians) < 2:
        return f"median {format_ms(medians[0])}" if medians else ""
    return f"medians {range_text(medians[0], medians[-1], 3)} ms"


def _short(command: str, others: Collection[str] = ()) -> str:
    """Return a command line without folders, and without the other models that it measures."""
    try:
        words = shlex.split(command)
    except ValueError:  # a quotation that does not end
        words = command.split()
    names = [
        PurePosixPath(word).name if "/" in word and "://" not in word else word for word in words
    ]
    kept = [
        name
        for before, name in pairwise(("", *names))
        if name not in others or before.startswith("-")
    ]
    return shlex.join(kept[1:] if kept[:1] == ["enginescope"] else kept)
