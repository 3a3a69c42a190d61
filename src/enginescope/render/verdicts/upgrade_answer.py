"""The answer of an upgrade, for terminal, Markdown, page, notebook and JSON alike.

Layer times are of one process a side, so that they explain a difference and decide nothing.
"""

from collections.abc import Iterator, Sequence

from enginescope.analysis.plan_comparison.layer_changes import Cause
from enginescope.analysis.verdicts.evidence_levels import THROUGHPUT, printed_cause
from enginescope.analysis.verdicts.model_mean import upgrade_means
from enginescope.core.record import replace
from enginescope.judge.units import counted, format_ms
from enginescope.judge.verdict import EvidenceLevel
from enginescope.records.progress import COMPARISON_TAG
from enginescope.records.verdict.upgrade import (
    OUTPUTS,
    LayerDifferences,
    Stack,
    UpgradedModel,
    UpgradeKind,
    UpgradeReport,
    UpgradeRow,
)
from enginescope.render.base.answer_tables import stated
from enginescope.render.base.data_table import UNKNOWN, number_column, printable
from enginescope.render.base.figures import TextTable
from enginescope.render.base.phrases import shared_notices
from enginescope.render.charts.estimates import estimate_chart
from enginescope.render.html.answer_page import Answer
from enginescope.render.html.images import Chart
from enginescope.render.plan_comparison.compare_phrases import cause_words
from enginescope.render.verdicts import verdict_phrases as phrases
from enginescope.render.verdicts.gate_answer import change_estimate

_HEADERS = ("Verdict", "Model", "Metric", "Old", "New", "Change", "Interval", "Why")
_LAYER_HEADERS = ("Layer", "Type", "Differs in", "Old ms", "New ms", "New − old, ms")
_ANSWERS = {
    UpgradeKind.WORSE: "upgrade is not safe",
    UpgradeKind.INCONCLUSIVE: "upgrade is inconclusive",
    UpgradeKind.BETTER: "upgrade is safe, and better",
    UpgradeKind.SAFE: "upgrade is safe",
}
_BY_KIND = {
    UpgradeKind.WORSE: "beyond the limit of {limit}",
    UpgradeKind.BETTER: "better by more than {limit}",
    UpgradeKind.SAFE: "not worse by more than {limit}",
    UpgradeKind.INCONCLUSIVE: "the limit is {limit}",
}
#: Metrics that tell the GPU's time from the host's.
_APART = frozenset({"gpu_compute", "enqueue"})


def upgrade_answer(report: UpgradeReport) -> Answer:
    """Return the metrics that count, and all figures and the layers of each model."""
    means, models = upgrade_means(report), report.models
    rows = [_cells(model, row) for model in models for row in model.rows if is_listed(row)]
    rows += [phrases.mean_cells(mean, "model") for mean in means]
    has_models, headers = len(models) > 1, ("verdict", "model and metric")
    names = () if has_models else (f"{name_of(models[0])} · {models[0].backend}",)
    counting = metric_table("Metrics that count", _HEADERS, rows, *names, has_models=has_models)
    listed = TextTable(title="Models", headers=headers, rows=upgrade_rows(report))
    notices = shared_notices([(name_of(model), model.notices) for model in models])
    return Answer(
        verb="upgrade",
        title="Upgrade",
        answer=answer_text(report),
        facts=_facts(report),
        tables=(counting, *(table for model in models for table in _model_tables(model))),
        screen=(listed,),
        notices=(*report.notices, *notices),
        report=report,
        data={
            "passed": report.is_passed,
            "verdict": report.kind,
            "models": [
                {
                    "model": model.model,
                    "verdict": model.kind,
                    "sentences": [row_sentence(model, row) for row in model.rows],
                    "layers": layers_text(model.layers) if model.layers else None,
                }
                for model in models
            ],
            "means": means,
        },
        charts=(upgrade_chart(report),),
    )


def answer_text(report: UpgradeReport) -> str:
    """Return the result in one line: ``upgrade is not safe: 1 of 6 models is worse (a.onnx)``."""
    kind, models = report.kind, report.models
    answer, total = _ANSWERS[kind], counted(len(models), "model")
    if kind is UpgradeKind.SAFE:
        return f"{answer}: {total} {are(len(models))} as correct and as fast"
    printed = _printed(models)
    if printed is not None:
        return f"{answer}: {printed}"
    named = [f"{name_of(one)}{_metrics(one)}" for one in models if one.kind is kind]
    verb = f"{are(len(named))} {kind.value}"
    if len(models) == 1:
        return f"{answer}: {name_of(models[0])} {verb}{_metrics(models[0])}"
    return f"{answer}: {len(named)} of {total} {verb}: {', '.join(named)}"


def are(count: int) -> str:
    """Return the verb of a number of things."""
    return "is" if count == 1 else "are"


def _printed(models: Sequence[UpgradedModel]) -> str | None:
    if len(models) != 1 or models[0].evidence is not EvidenceLevel.PRINTED:
        return None
    rows = [row for row in models[0].rows if row.verdict is not None]
    cause = printed_cause([row.verdict for row in rows if row.verdict])
    if cause is None:
        return None
    changes = ", ".join(
        f"{metric_text(row, in_text=True)} {phrases.change_text(row.verdict)}"
        for row in rows
        if row.metric in {THROUGHPUT, *_APART}
    )
    return f"printed figures alone say: {cause} ({changes})"


def name_of(model: UpgradedModel) -> str:
    """Return a model's name without characters that a terminal obeys."""
    return printable(model.model)


def _metrics(model: UpgradedModel) -> str:
    rows = [row for row in model.rows if row.decides and row.kind is model.kind]
    return f" ({', '.join(metric_text(row, in_text=True) for row in rows)})"


def _facts(report: UpgradeReport) -> tuple[tuple[str, str], ...]:
    references = dict.fromkeys(model.reference for model in report.models if model.reference)
    rows = (row for model in report.models for row in model.rows if row.decides)
    intervals = filter(None, (phrases.interval_of(row.verdict) for row in rows if row.verdict))
    limits = (
        f"{phrases.title_of(limit.metric)} {limit.regression_pct:g} %" for limit in report.limits
    )
    return stated(
        ("old", _stack_text(report.old, report.new)),
        ("new", _stack_text(report.new, report.old)),
        ("reference", "; ".join(references)),
        ("evidence", "; ".join(dict.fromkeys(map(evidence_text, report.models)))),
        ("intervals", ", ".join(dict.fromkeys(map(phrases.confidence_text, intervals)))),
        ("limits", ", ".join(limits)),
    )


def _stack_text(stack: Stack, other: Stack) -> str:
    """Return a stack's name, and the versions in which it differs from the other one."""
    if stack.python is None:
        return stack.name
    runtimes = ("tensorrt", "onnxruntime", "onnxruntime-gpu", "onnxruntime-openvino", "openvino")
    differing = dict(stack.versions.items() - other.versions.items())
    names = sorted(differing, key=(*runtimes, *stack.versions).index)  # runtimes first
    texts = (f"{name} {differing[name]}" for name in names)
    text = ", ".join(texts) or "the same versions as the other stack"
    return f"{stack.name} ({text}), {stack.python}"


def evidence_text(model: UpgradedModel) -> str:
    """Return the evidence level and the number of processes; what is missing."""
    if model.evidence is None:
        return "outputs only; not timed"
    *few, most = sorted({len(model.old), len(model.new)})
    runs = "".join(f"{count} and " for count in few)
    return f"{model.evidence.value}, {runs}{counted(most, 'run')} a side"


def is_listed(row: UpgradeRow) -> bool:
    """Whether a row is always listed: it counts, or tells the GPU's time from the host's."""
    return row.decides or row.metric in _APART


def metric_text(row: UpgradeRow, *, in_text: bool = False) -> str:
    """Return the heading of a row's metric, or its words within a sentence."""
    title = "Outputs" if row.metric == OUTPUTS else phrases.title_of(row.metric)
    return title if not in_text or title[:2].isupper() else f"{title[:1].lower()}{title[1:]}"


def values_of(row: UpgradeRow) -> tuple[str, str]:
    """Return the figures of both stacks; of outputs their largest error."""
    if row.metric != OUTPUTS:
        return phrases.value_text(row.metric, row.old), phrases.value_text(row.metric, row.new)
    old, new = (UNKNOWN if value is None else f"{value:.2g}" for value in (row.old, row.new))
    return old, new


def why_of(row: UpgradeRow) -> str:
    """Return why a row is what it is: one sentence with its reason code."""
    return f"{_words_of(row)} ({row.reason})"


def _words_of(row: UpgradeRow) -> str:
    if row.message:
        return row.message
    if row.verdict is not None and row.kind is UpgradeKind.INCONCLUSIVE:
        return phrases.why_text(row.verdict) or "the interval does not decide it"
    return _BY_KIND[row.kind].format(limit=f"{row.limit_pct:g} %")


def metric_table(
    title: str,
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    *notes: str,
    has_models: bool = False,
) -> TextTable:
    """Return figures of metrics; a column of models only where there are several."""
    kept = [at for at, name in enumerate(headers) if has_models or name != "Model"]
    return TextTable(
        title=title,
        headers=tuple(headers[at] for at in kept),
        rows=tuple(tuple(row[at] for at in kept) for row in rows),
        numbers=("Old", "New", "Change", "Interval"),
        sentences=_HEADERS[-1:],
        note="; ".join(filter(None, (*notes, phrases.change_note(rows)))) or None,
    )


def _cells(model: UpgradedModel, row: UpgradeRow) -> tuple[str, ...]:
    change = phrases.change_text(row.verdict, is_cell=True), phrases.change_interval(row.verdict)
    names = (verdict_text(row), name_of(model), metric_text(row))
    return (*names, *values_of(row), *change, _words_of(row))


def _model_tables(model: UpgradedModel) -> Iterator[TextTable]:
    texts = (
        f"{model.kind.value} on {model.backend}",
        evidence_text(model),
        f"reference: {model.reference}" if model.reference else "",
        *_layer_texts(model),
        f"stored as {COMPARISON_TAG}{model.comparison}" if model.comparison else "",
        "in brackets: does not count",
    )
    name, rows = name_of(model), [_cells(model, row) for row in model.rows]
    yield replace(metric_table(f"Figures of {name}", _HEADERS, rows, *texts), is_detail=True)
    layers = layer_table(model)
    if layers is not None:
        yield replace(layers, title=f"Layers of {name}", is_detail=True)


def verdict_text(row: UpgradeRow) -> str:
    """Return the verdict; in brackets where it does not count."""
    return row.kind.value if row.decides else f"({row.kind.value})"


def row_sentence(model: UpgradedModel, row: UpgradeRow) -> str:
    """Return the verdict of a row with its figures and its reason, in one line."""
    old, new = values_of(row)
    figures = f"{metric_text(row)} {old} → {new}" if row.old is not None else metric_text(row)
    change = f", {text}" if (text := phrases.change_text(row.verdict)) != UNKNOWN else ""
    name, kind = f"{name_of(model)} · {model.backend}", row.kind.value
    return f"{name}: {kind}: {figures}{change}; {why_of(row)}"


def layers_text(layers: LayerDifferences) -> str:
    """Return how many layers differ, and what their times add up to on each stack."""
    differ = f"{layers.differing:,}" if layers.differing else "none"
    text = (
        f"{counted(layers.paired, 'pair')} among {layers.old:,} and {layers.new:,} layers, "
        f"{differ} built differently"
    )
    for count, where in ((layers.only_old, "old"), (layers.only_new, "new")):
        text += f", {counted(count, 'layer')} only {where}" if count else ""
    if layers.old_ms is None or layers.new_ms is None:
        return f"{text}; no layer times"
    times = f"{format_ms(layers.old_ms)} → {format_ms(layers.new_ms)}"
    return f"{text}; layer times {times}, of one process a side"


def most_text(model: UpgradedModel) -> str | None:
    """Return the largest part of the difference; ``None`` where there is none to explain.

    That is: no layer is built differently, and the headline is neither worse nor better.
    """
    layers = model.layers
    if layers is None:
        return None
    headline = model.rows[1].kind if len(model.rows) > 1 else None
    sign = (headline is UpgradeKind.WORSE) - (headline is UpgradeKind.BETTER)
    if sign and layers.old_ms is not None and layers.new_ms is not None:
        if sign * (layers.new_ms - layers.old_ms) <= 0:
            return "these times do not show the difference in latency"
        causes = [cause for cause in layers.causes if sign * (cause.difference_ms or 0.0) > 0]
    else:
        causes = [cause for cause in layers.causes if cause.cause != Cause.NOTHING.value]
    if not causes:
        return None
    most = causes[0]
    words = printable(cause_words(Cause(most.cause), most.kind, most.detail, ("old", "new")))
    if most.difference_ms is None:
        return f"most: {words}, {counted(most.layers, 'pair')}"
    (difference,) = number_column([most.difference_ms], signed=True)
    return f"most of it: {words}, {difference} ms"


def _layer_texts(model: UpgradedModel) -> list[str]:
    return [layers_text(model.layers), *filter(None, [most_text(model)])] if model.layers else []


def layer_table(model: UpgradedModel) -> TextTable | None:
    """Return the layers that differ most; ``None`` where none differs and none is timed."""
    layers = model.layers.layers if model.layers else ()
    shown = [layer for layer in layers if layer.changes or layer.difference_ms is not None]
    if not shown:
        return None
    columns = [
        [printable(layer.name) for layer in shown],
        [printable(layer.type) for layer in shown],
        [printable(", ".join(layer.changes)) or "nothing" for layer in shown],
        number_column([layer.old_ms for layer in shown]),
        number_column([layer.new_ms for layer in shown]),
        number_column([layer.difference_ms for layer in shown], signed=True),
    ]
    rows = tuple(zip(*columns, strict=True))
    note = "those built differently first, then by time; times of one process a side"
    return TextTable(
        title="Layers", headers=_LAYER_HEADERS, rows=rows, numbers=_LAYER_HEADERS[3:], note=note
    )


def upgrade_rows(report: UpgradeReport) -> tuple[tuple[str, str], ...]:
    """Return the verdict and the lines of what is listed."""
    rows, layers = [], []
    for model in report.models:
        name = f"{name_of(model)} · {model.backend}"
        for row in filter(is_listed, model.rows):
            texts = [f"{name} · {metric_text(row)}", *_figures(row), why_of(row)]
            rows.append((verdict_text(row), "\n".join(texts)))
        if texts := _layer_texts(model):
            layers.append(("layers", "\n".join((f"{name} · Layers", *texts))))
    means = (("mean", phrases.mean_lines(mean, "model")) for mean in upgrade_means(report))
    return (*rows, *layers, *means)


def _figures(row: UpgradeRow) -> Iterator[str]:
    if row.old is not None:
        values = " → ".join(values_of(row))
        figures = (values, phrases.change_text(row.verdict), phrases.change_interval(row.verdict))
        known = ", ".join(text for text in figures if text != UNKNOWN)
        yield known if row.verdict else f"largest error {values}"


def upgrade_chart(report: UpgradeReport) -> Chart | None:
    """Return the changes that count, with their intervals; ``None`` without any."""
    has_models = len(report.models) > 1
    changes = [
        change_estimate(
            f"{name_of(model)}: {metric_text(row)}" if has_models else metric_text(row),
            row.verdict,
            row.kind.value,
        )
        for model in report.models
        for row in model.rows
        if row.verdict is not None and row.decides and phrases.interval_of(row.verdict) is not None
    ]
    title = "Metrics that count: change of the new stack against the old one"
    axis, lines = "change, %", "intervals"
    return estimate_chart("upgrade_changes", title, changes, axis=axis, reference=0.0, lines=lines)
