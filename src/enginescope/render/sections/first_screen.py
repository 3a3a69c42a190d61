"""What the first screen shows of layers: their time, where to look, and what the rules found."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from heapq import nlargest
from operator import itemgetter
from typing import Any

from enginescope.analysis.graph.folding.levels import icicle
from enginescope.analysis.layers.layer_table import LayerRow
from enginescope.analysis.roofline.roofline import LayerRoof
from enginescope.core.record import Record
from enginescope.judge.units import counted, format_ms, format_significant
from enginescope.render.base.figures import COMPARE, run_steps
from enginescope.render.base.palette import family_color, type_family
from enginescope.render.base.phrases import format_us, saving_text
from enginescope.render.base.short_names import shorten_apart
from enginescope.render.plans.findings import (
    SHOWN_GROUPS,
    finding_table,
    first_changes,
    group_table,
    rule_table,
)
from enginescope.render.plans.plan_headline import PageSubject, no_floors_text
from enginescope.render.sections.section import Section, capitalized, known
from enginescope.rules.base import Finding
from enginescope.rules.catalogue import every_rule, paragraphs

#: Layers listed.
MOST_LISTED = 8


class LookRow(Record, frozen=True, kw_only=True):
    """One layer that may be won time of.

    Attributes:
        row: Place in the table of layers, which has its `layer`.
        time_pct, raw_pct, floor_pct: Of the longest time in the list: lengths of bars.
        share, raw_share: Of the sum of all layers' times.
        fix, fix_text: What to do, by the first finding: its code and advice, and all it says.
    """

    row: int
    layer: LayerRow
    short: str
    time: str
    raw: str | None
    share: str
    raw_share: str
    time_pct: float
    raw_pct: float | None
    floor_pct: float | None
    above: str
    distance: str
    bound: str
    fix: str
    fix_text: str


class FirstScreen(Record, frozen=True, kw_only=True):
    """The layers of the first screen.

    Attributes:
        title: In which order the layers stand.
        count: Of the layers that do work or took time, in words.
        notes: What is not known.
        has_raw: Whether layers have a time with the profiler's part, too.
    """

    title: str
    count: str
    rows: tuple[LookRow, ...]
    notes: tuple[str, ...]
    has_raw: bool


def next_steps(subject: PageSubject) -> tuple[tuple[str, str, str], ...]:
    """Return name, text and command line, maybe empty, of the first two steps.

    First what the run lacks, then the change that may save most, then another run.
    """
    steps = run_steps(subject.view)
    lacking = [step for step in steps if step[0] != COMPARE]
    changes = [(text, "") for text in first_changes(subject.findings, 2)]
    ordered = (*lacking, *changes, *steps[len(lacking) :])
    return tuple((name, *step) for name, step in zip(("next", "or"), ordered, strict=False))


def first_screen(subject: PageSubject) -> FirstScreen | None:
    """Return the layers that lose most time against their limits; ``None`` without layers.

    Where no limit is known, the slowest layers; without times, none.
    """
    if not subject.layers:
        return None
    roofline = subject.plan.roofline if subject.plan else None
    losing = roofline.worst(MOST_LISTED) if roofline else ()
    if subject.plan is not None and losing:
        indices = [subject.plan.all_layers[roof.position].index for roof in losing]
        places = [subject.row_of_layer[index] for index in indices]
        title = "Where to look: layers by time above their floor"
    else:
        every = enumerate(subject.layers)
        places = [at for at, row in every if row.time_ms and not row.is_container][:MOST_LISTED]
        losing = ()
        title = "Where to look: the slowest layers" if places else "No layer times"
    rows = [subject.layers[at] for at in places]
    listed = _look_rows(subject, places, rows, losing or [None] * len(rows))
    missing = _missing(subject, listed) if listed else None
    unranked = roofline.unranked if roofline and losing else ()
    took = format_ms(sum(roof.time_ms or 0.0 for roof in unranked), 3)
    verb = "has" if len(unranked) == 1 else "have"
    more = f"{counted(len(unranked), 'more layer')} {verb} no known floor: {took} in all."
    count = counted(sum(row.took_time or not row.is_inert for row in subject.layers), "layer")
    notes = known(more if unranked else None, missing)
    has_raw = any(row.raw_ms is not None for row in subject.layers)
    return FirstScreen(title=title, count=count, rows=listed, notes=notes, has_raw=has_raw)


def _missing(subject: PageSubject, rows: Sequence[LookRow]) -> str | None:
    """Say which columns are left out, and why nothing is known for them."""
    unfixed = "no finding is about these layers" if subject.findings else "no rule ran"
    reasons = {
        "above": f"floors ({no_floors_text(subject) or 'no layer has one'})",
        "fix": f"what to do ({unfixed})",
    }
    absent = [text for name, text in reasons.items() if not any(getattr(row, name) for row in rows)]
    return f"Not known: {', '.join(absent)}." if absent else None


def _look_rows(
    subject: PageSubject,
    places: Sequence[int],
    rows: Sequence[LayerRow],
    roofs: Sequence[LayerRoof | None],
) -> tuple[LookRow, ...]:
    longest_ms = max((max(row.time_ms or 0.0, row.raw_ms or 0.0) for row in rows), default=1.0)

    def part(ms: float | None) -> float | None:
        return None if ms is None else round(min(100.0, 100 * ms / longest_ms), 2)

    names, whole = shorten_apart([row.name for row in rows], 44), subject.view.layer_sum
    made = []
    for place, row, roof, name in zip(places, rows, roofs, names, strict=True):
        fix, fix_text = "", ""
        of_layer = subject.findings_of_layer.get(row.index) if row.in_plan else None
        if of_layer:
            first, saving = of_layer[0], saving_text(of_layer[0].saving)
            fix = f"{first.code} {first.advice}"
            fix_text = f"{first.subject} {first.message}" + (f" ({saving})" if saving else "")
        distance = roof.distance if roof else None
        made.append(
            LookRow(
                row=place,
                layer=row,
                short=name,
                time=format_us(row.time_ms),
                raw=None if row.raw_ms is None else format_us(row.raw_ms),
                share=_share(row.time_ms, whole.sum_ms if whole else None),
                raw_share=_share(row.raw_ms, whole.raw_ms if whole else None),
                time_pct=part(row.time_ms) or 0.0,
                raw_pct=part(row.raw_ms),
                floor_pct=part(roof.attainable_ms) if roof else None,
                above=format_us(roof.excess_ms) if roof else "",
                distance=f"{format_significant(distance, 2)} ×" if distance else "",
                bound=(roof.bound or "") if roof else "",
                fix=fix,
                fix_text=fix_text,
            )
        )
    return tuple(made)


def _share(ms: float | None, sum_ms: float | None) -> str:
    return f"{format_significant(100 * ms / sum_ms, 2)} %" if ms is not None and sum_ms else ""


def where_text(subject: PageSubject, groups: Mapping[str, Any]) -> str | None:
    """Return ``layer4 29 %, layer3 21 %, layer2 16 %; slowest layer: conv2 8.9 %``, with what of.

    Args:
        groups: `icicle_data`.

    Returns:
        The parts of the whole that take most; ``None`` without times.
    """
    layers, parts = [subject.layers[at] for at in groups["rows"]], defaultdict[str, float](float)
    times, names = [layer.time_ms or 0.0 for layer in layers], [layer.name for layer in layers]
    slowest = max(zip(times, names, strict=True), default=(0.0, ""))[::-1]
    whole = subject.view.layer_sum
    if whole is None or not slowest[1]:
        return None
    spans = zip(groups["names"], groups["parents"], groups["starts"], groups["stops"], strict=True)
    for name, parent, start, stop in spans:
        if parent == 0:
            names[start:stop] = [name] * (stop - start)
    for name, ms in zip(names, times, strict=True):
        parts[name] += ms
    most = nlargest(3, parts.items(), key=itemgetter(1))
    told = most if slowest in most else [*most, slowest]
    short = shorten_apart([name for name, _ in told], 44)
    each = [f"{name} {_share(ms, whole.sum_ms)}" for name, (_, ms) in zip(short, told, strict=True)]
    last = f"; slowest layer: {each[-1]}" if len(told) > len(most) else ""
    return f"{', '.join(each[: len(most)])} of the layers' time{last}"


def icicle_data(subject: PageSubject) -> dict[str, Any] | None:
    """Return the groups over the rows of the table of layers; ``None`` without layers.

    Layers that are not in the graph stand at the end of the whole. Without floors, layers have the
    colors of their kinds of work. ``rest_ms`` is time of the whole that is in no layer.
    """
    if not subject.layers:
        return None
    made, whole = _groups(subject), subject.view.layer_sum
    roofline = subject.plan.roofline if subject.plan else None
    if roofline is None or not roofline.worst(1):
        families = [type_family(subject.layers[at].type) for at in made["rows"]]
        kinds = list(dict.fromkeys(families))
        made["kinds"] = [(kind, family_color(kind)) for kind in kinds]
        made["kind"] = [kinds.index(family) for family in families]
    if whole is not None and whole.is_same is False and (whole.difference_ms or 0.0) < 0:
        made["rest_ms"] = -(whole.difference_ms or 0.0)
    return made


def _groups(subject: PageSubject) -> dict[str, Any]:
    if subject.graph is None:
        place = {id(row): at for at, row in enumerate(subject.layers)}
        rows = [place[id(row)] for row in subject.view.layers if not row.is_container]
        name = subject.view.run.job.subject.name
        return {"names": [name], "parents": [-1], "starts": [0], "stops": [len(rows)], "rows": rows}
    found = icicle(subject.graph, next(iter(subject.trees.values())))
    rows = [subject.row_of_layer[index] for index in found.layers]
    timed = ((subject.layers[at], at) for at in set(range(len(subject.layers))).difference(rows))
    rest = [(row.index, at) for row, at in timed if row.took_time and not row.is_container]
    rows += [at for _, at in sorted(rest)]
    return {
        "names": list(found.names),
        "parents": found.parents,
        "starts": found.starts,
        "stops": (len(rows), *found.stops[1:]),
        "rows": rows,
    }


def findings(subject: PageSubject) -> Section | None:
    """Findings by what they may save, and what their rules say; ``None`` without a plan."""
    report = subject.findings
    if report is None:
        return None
    no_times = "No layer times: savings are not known, and rules on times find nothing."
    found, untimed = report.findings, () if report.sum_ms is not None else (no_times,)
    tables = (rule_table(report), group_table(report, SHOWN_GROUPS, name_width=None))
    nothing = " ".join((f"No findings: {len(report.rules)} rules ran.", *untimed))
    return Section(
        key="findings",
        title="Findings",
        empty=None if found else nothing,
        notes=untimed,
        figures=tuple(map(capitalized, known(*tables))),
        tables=known(finding_table(found, subject.row_of_layer)),
        facts={"explained": _explained(found)},
    )


def _explained(found: Sequence[Finding]) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    codes = {one.code for one in found}
    return tuple(
        (
            f"{rule.code} {rule.name}: {rule.summary}",
            tuple((title, words.replace("``", "")) for title, words in paragraphs(rule).items()),
        )
        for rule in every_rule()
        if rule.code in codes
    )
