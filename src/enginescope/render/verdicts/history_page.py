"""Histories as one HTML file that needs no network and reads without JavaScript; their chart."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from itertools import chain

from markupsafe import Markup

from enginescope.core.record import replace
from enginescope.judge.comparison.change_points import FEWEST_POINTS
from enginescope.judge.notice import Notice
from enginescope.judge.units import format_significant
from enginescope.records.verdict.history import JobHistory, Level
from enginescope.render.base.answer_tables import stated
from enginescope.render.base.data_table import UNKNOWN
from enginescope.render.base.figures import TextTable
from enginescope.render.html.answer_page import Answer, Part, written_page
from enginescope.render.html.images import (
    X_TICKS,
    Chart,
    ChartTable,
    Spec,
    marks,
    quantity,
    tooltip,
    zoomable,
)
from enginescope.render.verdicts import history_text as history
from enginescope.render.verdicts.verdict_phrases import title_of, value_text

_JOB_HEADERS = ("job", "newest session", "change", "sessions", "newest runs", "command")


def history_page(
    found: Sequence[JobHistory],
    *,
    model: str,
    notices: Sequence[Notice] = (),
    runs: Mapping[str, str] | None = None,
    steps: tuple[tuple[str, str], ...] = (),
    script_address: str | None = None,
) -> bytes:
    """Return the page over the histories of a model's jobs.

    Args:
        found: One or more.
        model: What was asked for.
        notices: Warnings about the whole, such as skipped runs.
        runs: Addresses of runs by their ids, where there is a server.
        steps: Next steps: purpose and command line.
    """
    named, shared = history.named_apart(found)
    parts = [
        _part(f"history-{number}", jobs, runs or {}, [command for _, command in steps])
        for number, jobs in enumerate(history.grouped(named), start=1)
    ]
    first, options = parts[0], stated(("options", shared))
    answered = Answer(
        verb="history",
        title=f"History of {model}",
        report=None,
        answer=f"{len(parts)} histories of {model}: {history.changes_text(found)}",
        facts=options,
        notices=tuple(notices),
        parts=tuple(parts),
        files={"history.json": history.history_json(found)},
        steps=steps,
    )
    if len(parts) == 1:
        answered = replace(
            answered,
            answer=first.answer,
            facts=(*first.facts, *options),
            tables=first.tables,
            charts=first.charts,
            parts=(),
        )
    return written_page(answered, script_address=script_address)


def _part(
    key: str, jobs: Sequence[JobHistory], runs: Mapping[str, str], said: Sequence[str]
) -> Part:
    changes = _changes(jobs)
    table = TextTable(
        title="Jobs",
        headers=_JOB_HEADERS,
        rows=tuple(_row(job, runs, said) for job in jobs),
        numbers=_JOB_HEADERS[1:4],
        below=_JOB_HEADERS[-1],
    )
    title = history.title_text(*jobs)
    doubts = (
        (history.case_name(job), history.history_rows(job)[-1][1]) for job in jobs if job.doubt
    )
    return Part(
        key=key,
        title=f"{jobs[0].model} · {jobs[0].backend}",
        answer=f"{title[:1].upper()}{title[1:]}",
        facts=(
            *stated(("on", " and ".join(filter(None, dict.fromkeys(job.place for job in jobs))))),
            *(
                ("look", f"{history.case_name(job)}: {history.warnings_text(job)}")
                for job in jobs
                if any(job.warnings.values())
            ),
            *(("open", f"{name}: {text}".replace("\n", "; ")) for name, text in doubts),
        ),
        tables=(*((changes,) if changes.rows else ()), table),
        charts=history_charts(jobs, key=key, title=f"{title_of(jobs[0].metric)} of each session"),
    )


def _row(job: JobHistory, runs: Mapping[str, str], said: Sequence[str]) -> tuple[str, ...]:
    newest = job.points[-1]
    name = " · ".join(filter(None, (job.case, job.inputs if job.inputs != job.case else None)))
    change = "none" if len(job.points) >= FEWEST_POINTS else UNKNOWN  # too few to tell
    if job.doubt:
        change = "inconclusive"
    elif job.sure:
        change = f"{history.amount_text(job.sure[-1])}, {history.way_text(job.sure[-1])}"
    link = Markup('<a href="{}">{}</a>').format
    return (
        Markup('<span id="{}">{}</span>').format(history.anchor(job), name or job.model),
        history.level_text(job, newest),
        change,
        f"{len(job.points):,}",
        Markup(" ").join(
            link(runs[run], run[:8]) if run in runs else run[:8] for run in newest.runs[-3:]
        ),
        UNKNOWN if job.command is None or job.command in said else job.command,
    )


def _changes(jobs: Sequence[JobHistory]) -> TextTable:
    rows = tuple(
        (
            name if len(jobs) == 1 else f"{name} {job.case}",
            f"{history.amount_text(one)}, {history.way_text(one)}",
            "; ".join(map(history.fact_text, one.changed)) or "no recorded fact",
            history.levels_sentence(job, one) or UNKNOWN,
            history.interval_text(one),
            history.when_text(job, one),
            job.points[one.at].runs[0][:8],
        )
        for name, job, one in history.lettered(jobs)
    )
    headers = (
        *("change", "by", "what changed, likely causes first", "levels", "interval"),
        *("from, UTC", "run"),
    )
    title = "Changes of level, with what differs between the runs on either side"
    return TextTable(title=title, headers=headers, rows=rows, sentences=headers[2:4])


def history_chart(
    jobs: Sequence[JobHistory], *, key: str = "history", title: str | None = None
) -> Chart:
    """Every session of jobs of one model and backend, dashed levels, a letter at each change.

    Without a title, it is the result with the name of what it is of.
    """
    return Chart(
        key=key,
        title=title or history.title_text(*jobs),
        subtitle=(
            *((history.span_text(jobs[0]),) if len(jobs) == 1 else ()),
            "Bars: lowest to highest run of a session; of a single run its 95 % CI"
            + ("; band: changes that do not count" if len(jobs) == 1 else ""),
        ),
        spec=zoomable(_layers(jobs)),
        table=_chart_table(jobs),
        height=280,
        is_wide=True,
    )


def history_charts(jobs: Sequence[JobHistory], **named: str) -> tuple[Chart, ...]:
    """Return `history_chart` where a job has more than one session."""
    return (history_chart(jobs, **named),) if any(len(job.points) > 1 for job in jobs) else ()


def _layers(jobs: Sequence[JobHistory]) -> list[Spec]:
    rows = [
        {
            "job": history.case_name(job),
            "at": time,
            "value": one.value,
            "low": one.lowest,
            "high": one.highest,
            "made": one.created[:16].replace("T", " "),
            "run": one.runs[0][:8],
            "runs": len(one.runs),
            "commit": one.commit or "not known",
        }
        for job in jobs
        for time, one in zip(_times_ms(job), job.points, strict=True)
    ]
    title = f"{jobs[0].metric}, {jobs[0].unit}"
    y = quantity("value", title, scale=_scale(jobs))
    is_shared = len(jobs) > 1
    own = {"job": "job"} if is_shared else {}
    figures = {"value": f"{title}#", "low": "lowest#", "high": "highest#"}
    tips = tooltip(**own, made="made", run="run", runs="runs#", commit="commit", **figures)
    color: Spec = {"field": "job", "type": "nominal", "title": None, "legend": {"orient": "top"}}
    shared: Spec = {"x": _x(), **({"color": color} if is_shared else {})}
    layers = [*_change_marks(jobs), *_levels(jobs, {**shared, "y": y})]
    if len(rows) <= 400:  # more bars of spread hide the points
        bar = {"type": "rule", "strokeWidth": 1.2, "opacity": 0.45}
        ends = {"y": {**y, "field": "low"}, "y2": {"field": "high"}}
        layers.append(marks(rows, bar, **shared, **ends, tooltip=tips))
    point = {"type": "point", "filled": True, "size": 42, "opacity": 0.9, "clip": True}
    return [*layers, marks(rows, point, **shared, y=y, tooltip=tips)]


def _scale(jobs: Sequence[JobHistory]) -> Spec:
    values = [end for job in jobs for one in job.points for end in (one.lowest, one.highest)]
    if len(jobs) == 1:
        values += [end for level in jobs[0].levels for end in _band(jobs[0], level)]
    if len(jobs) > 1 and max(values) > 3 * min(values) > 0:
        return {"type": "log", "nice": False}
    ends = history.flat_ends(values)
    return {"zero": False} if ends is None else {"domain": ends, "nice": False}


def _times_ms(found: JobHistory) -> list[float]:
    made = (datetime.fromisoformat(one.created.replace("Z", "+00:00")) for one in found.points)
    known = (one if one.tzinfo else one.replace(tzinfo=timezone.utc) for one in made)
    return [1e3 * one.timestamp() for one in known]


def _x() -> Spec:
    # a day where it begins; else the time too, as zoom and width decide how far ticks are apart
    tick = (
        "utcFormat(datum.value, utcseconds(datum.value) ? '%m-%d %H:%M:%S'"
        " : utchours(datum.value) || utcminutes(datum.value) ? '%m-%d %H:%M' : '%Y-%m-%d')"
    )
    return {
        "field": "at",
        "type": "temporal",
        "title": "session, UTC",
        "scale": {"type": "utc", "nice": False},
        "axis": {"labelExpr": tick, "grid": False, **X_TICKS, "labelOverlap": True},
    }


def _band(job: JobHistory, level: Level) -> tuple[float, float]:
    most = 1 + job.threshold_pct / 100
    return level.value / most, level.value * most


def _levels(jobs: Sequence[JobHistory], encoding: Spec) -> list[Spec]:
    every = [_times_ms(job) for job in jobs]
    first, last = min(chain(*every)), max(chain(*every))
    margin = 0.02 * (last - first) or 3.6e6  # an hour before and after the only time
    low, high = first - margin, last + margin
    rows: list[Spec] = [
        {
            "job": history.case_name(job),
            "from": _between(times, level.first) if level.first else low,
            "to": _between(times, level.last + 1) if level.last + 1 < len(times) else high,
            "value": level.value,
            "label": f"level {value_text(job.metric, level.value)}",
            **dict(zip(("low", "high"), _band(job, level), strict=True)),
        }
        for job, times in zip(jobs, every, strict=True)
        for level in job.levels
    ]
    ends = {"x": {**encoding["x"], "field": "from"}, "x2": {"field": "to"}}
    rule = {"type": "rule", "strokeDash": [6, 3], "strokeWidth": 1.6}
    tips = tooltip(value=f"level, {jobs[0].unit}#")
    dashed = marks(rows, rule, **{**encoding, **ends}, tooltip=tips)
    if len(jobs) > 1:
        return [dashed]
    y = {"y": {**encoding["y"], "field": "low"}, "y2": {"field": "high"}}
    band = {"type": "rect", "style": "accent-band", "opacity": 0.1}
    text = {"type": "text", "style": "folded", "baseline": "bottom"}
    middles = [{**row, "at": (row["from"] + row["to"]) / 2} for row in rows]
    label = {"x": encoding["x"], "y": encoding["y"], "text": {"field": "label"}}
    return [marks(rows, band, **ends, **y), dashed, marks(middles, text, **label)]


def _between(times: Sequence[float], at: int) -> float:
    return (times[at - 1] + times[at]) / 2


def _change_marks(jobs: Sequence[JobHistory]) -> list[Spec]:
    rows = [
        {"at": _between(_times_ms(job), one.at), "letter": name, "change": history.amount_text(one)}
        for name, job, one in history.lettered(jobs)
    ]
    if not rows:
        return []
    x, tips = _x(), tooltip(letter="change", change="by")
    rule = {"type": "rule", "style": "folded", "strokeDash": [2, 3], "strokeWidth": 1.2}
    text, letter = {"type": "text", "dx": 8, "dy": 8, "fontWeight": 700}, {"field": "letter"}
    return [
        marks(rows, rule, x=x, tooltip=tips),
        marks(rows, text, x=x, y={"value": 0}, text=letter, tooltip=tips),
    ]


def _chart_table(jobs: Sequence[JobHistory]) -> ChartTable:
    value, first = f"Value, {jobs[0].unit}", 0 if len(jobs) > 1 else 1
    headers = ("Job", "Session", "Made, UTC", "First run", "Runs", value, "Commit", "Tags")
    rows = (
        (
            history.case_name(job),
            f"{at:,}",
            one.created[:16].replace("T", " "),
            one.runs[0][:8],
            f"{len(one.runs):,}",
            format_significant(one.value, 4),
            one.commit or "—",
            " ".join(one.tags),
        )
        for job in jobs
        for at, one in enumerate(job.points, start=1)
    )
    return ChartTable(headers=headers[first:], rows=tuple(row[first:] for row in rows))
