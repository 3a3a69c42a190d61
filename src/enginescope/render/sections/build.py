"""How the engine was built, and what the tool reports that made an imported run."""

from __future__ import annotations

from enginescope.core.record import replace
from enginescope.core.units import format_bytes
from enginescope.judge.units import format_significant
from enginescope.records.plan.build import BuildReport
from enginescope.records.plan.tool_report import ToolReport
from enginescope.render.base.answer_tables import stated
from enginescope.render.base.data_table import column, data_table
from enginescope.render.base.facts import Facts
from enginescope.render.base.figures import reported_rows
from enginescope.render.plans.build_text import (
    build_fact_rows,
    build_facts,
    build_tables,
    message_table,
)
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections.section import Section, capitalized, known

_NO_LOG = (
    "No build log, so fusions and tactics are unknown. Build with a verbose "
    "log (trtexec --verbose, enginescope build) and name it: enginescope explore … --build-log "
    "LOG --html FILE."
)


def build(subject: PageSubject) -> Section | None:
    """Steps, fusions, choices, tuning, memory, messages; ``None`` for a run without a plan."""
    run, story = subject.view.run, subject.story
    pairs = _facts(run.build) if run.build else ()
    if run.plan is None and not pairs and story is None:
        return None
    section = Section(key="build", title="Build", pairs=pairs)
    if story is None:
        answer = ", ".join(f"{name.lower()} {value}" for name, value in pairs[:2]) or None
        notes, empty = (_NO_LOG,), None if pairs else _NO_LOG
        return replace(section, answer=answer, empty=empty, notes=notes)
    rows = [table for table in build_fact_rows(story) if table.rows]
    tables = known(*build_tables(story), message_table("build-messages", story.messages))
    nothing = f"{story.source} has nothing about a build: is the log verbose?"
    return replace(
        section,
        answer=f"by {story.source}",
        empty=None if rows or tables else nothing,
        figures=tuple(map(capitalized, rows)),
        tables=tables,
    )


def _facts(report: BuildReport) -> Facts:
    asked = (("Requested precision", report.precision), ("Command", report.command))
    made = ((name.capitalize(), text) for name, text in build_facts(report))
    return stated(*made, *asked, *report.options.items())


def tool_report(subject: PageSubject) -> Section | None:
    """Printed figures beside ours, options, memory, warnings; ``None`` for our own runs."""
    tool = subject.view.run.tool
    if tool is None:
        return None
    version = f" {tool.tool_version}" if tool.tool_version else ""
    silent = "It logged no warnings, or its log was not imported."
    groups = {**tool.options, "Device": tool.device_facts}
    rows = [(name, text, group) for group, some in groups.items() for name, text in some.items()]
    options = data_table(
        "tool-options",
        "Options and device, as it printed them",
        ("option", "options"),
        (
            column("Option", (name for name, _, _ in rows)),
            column("Value", (text for _, text, _ in rows)),
            column("Of", (group for _, _, group in rows), is_choice=True),
        ),
    )
    return Section(
        key="tool",
        title=f"What {tool.tool}{version} says",
        pairs=_tool_facts(tool),
        notes=() if tool.messages else (silent,),
        figures=known(reported_rows(subject.view)),
        tables=known(message_table("tool-messages", tool.messages), options),
    )


def _tool_facts(tool: ToolReport) -> Facts:
    sizes = {"Engine": tool.engine_bytes, "Context memory": tool.context_memory_bytes}
    pairs = (
        ("Verdict", None if tool.passed is None else "passed" if tool.passed else "failed"),
        ("Throughput, queries/s", _number(tool.throughput_per_s)),
        ("Host wall time, s", _number(tool.host_walltime_s)),
        ("Total GPU compute time, s", _number(tool.total_gpu_compute_s)),
        ("Build, s", _number(tool.build_s)),
        ("Parse, s", _number(tool.parse_s)),
        ("Deserialize, s", _number(tool.deserialize_s)),
        ("Load, s", _number(tool.load_s)),
        *(
            (name, format_bytes(size))
            for name, size in {**sizes, **tool.memory}.items()
            if size is not None
        ),
    )
    return tuple((name, value) for name, value in pairs if value is not None)


def _number(value: float | None) -> str | None:
    return None if value is None else format_significant(value, 6)
