"""A passport on one screen."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from enginescope.core.units import format_bytes
from enginescope.formats.importing.import_options import is_of_build, precision_of
from enginescope.judge.units import counted, format_ms
from enginescope.records.plan.build import ToolReport
from enginescope.records.plan.plan import IOTensor
from enginescope.records.run.passport import EngineValidation, Passport, PassportRun, PrecisionShare
from enginescope.render.base.data_table import printable
from enginescope.render.base.facts import device_text, shape_text, tensor_text
from enginescope.render.base.phrases import few
from enginescope.render.base.text import label_row, notice_lines

_SHOWN_RUNS = 3


def passport_text(passport: Passport) -> RenderableType:
    title = Text(passport.file, style="bold")
    rows = [label_row(name, value) for name, value in passport_facts(passport)]
    return Group(title, Text(), *rows, Text(), *notice_lines(passport.notices))


def passport_facts(passport: Passport) -> tuple[tuple[str, str], ...]:
    """Return a passport as (name, value) pairs; what is not known says so."""
    build, tool = passport.build, passport.tool
    of_build = tool if tool is not None and is_of_build(tool) else None
    command = build.command if build else None
    if command is None and of_build is not None and of_build.command is not None:
        command = of_build.command.partition("\n")[0]  # the build's comes first
    build_ms = build.build_ms if build else None
    if build_ms is None and of_build is not None and of_build.build_s is not None:
        build_ms = 1e3 * of_build.build_s
    options = (f"{key}={value}" for key, value in build.options.items()) if build else ()
    engine, timing = "not next to the plan", None
    if passport.engine is not None:
        size = format_bytes(passport.engine.size_bytes or 0)
        engine = f"{size}, {_hash(passport.engine.sha256)}"
    if build is not None:
        digest = build.timing_cache_sha256
        timing = f"timing cache {_hash(digest)}" if digest else "the build read no timing cache"
    validations = map(_validation, passport.validations[:_SHOWN_RUNS])
    unchecked = "not in this store: whether the outputs are right is unknown"
    pairs = (
        ("engine", engine),
        ("TensorRT", _version(passport)),
        ("GPU", device_text(passport.device) if passport.device else None),
        ("model", _model(passport, of_build)),
        ("asked for", (build.precision or "default") if build else precision_of(of_build)),
        ("options", build and (" ".join(options) or "defaults")),
        ("command", command),
        ("timing", timing),
        ("built in", f"{build_ms / 1e3:.1f} s" if build_ms is not None else None),
        *((each.mode or "tensor", _tensor(each)) for each in passport.io),
        ("layers", _layers(passport.precisions)),
        ("memory", _memory(passport)),
        ("runs", _runs(passport.runs)),
        ("evidence", passport.evidence or "no run of this engine"),
        ("validated", "; ".join(validations) or unchecked),
    )
    return tuple((name, value or "not known") for name, value in pairs)


def _hash(sha256: str | None) -> str:
    return f"SHA-256 {sha256[:16]}…" if sha256 else "digest not known"


def _version(passport: Passport) -> str | None:
    if passport.tensorrt is None:
        return None
    product = f"{passport.tensorrt} for RTX" if passport.is_rtx else passport.tensorrt
    targets = ", ".join(passport.compute_capabilities)
    return f"{product}, runs on compute capability {targets}" if targets else product


def _model(passport: Passport, of_build: ToolReport | None) -> str | None:
    build = passport.build
    if build is not None and build.model is not None:
        return f"{build.model}, {_hash(build.model_sha256)}"
    return (of_build.options.get("Model Options", {}).get("Model") if of_build else None) or None


def _tensor(io: IOTensor) -> str:
    bounds = [(one.min_shape, one.opt_shape, one.max_shape) for one in io.profiles]
    return "; ".join((tensor_text(io.tensor), *(" … ".join(map(shape_text, b)) for b in bounds)))


def _layers(shares: Sequence[PrecisionShare]) -> str | None:
    parts = (
        f"{share.layers:,} {share.precision or 'of unknown precision'}"
        + (f" ({format_ms(share.time_ms, 3)})" if share.time_ms is not None else "")
        for share in shares
    )
    return ", ".join(parts) or None


def _memory(passport: Passport) -> str | None:
    tool = passport.tool
    activation = tool.memory.get("Total Activation Memory") if tool else None
    pairs = (("weights", passport.weights_bytes), ("activation memory", activation))
    return ", ".join(f"{format_bytes(size)} {name}" for name, size in pairs if size) or None


def _runs(runs: Sequence[PassportRun]) -> str:
    if not runs:
        return "none of this engine in the store: its latency is unknown"
    parts = [
        f"{run.id} {run.created[:10]}: "
        + (run.outcome if run.median_ms is None else f"{run.metric} {format_ms(run.median_ms, 3)}")
        for run in runs
    ]
    return few(parts, _SHOWN_RUNS, "; ")


def _validation(validation: EngineValidation) -> str:
    day = f" {validation.created[:10]}" if validation.created else ""
    largest = validation.error_to_spread
    error = f", error ÷ spread {largest:.3g}" if largest is not None else ""
    return (
        f"{'passes' if validation.passes else 'fails'}{day}: limits of {validation.tolerance}, "
        f"against {printable(validation.reference)}, {counted(validation.samples, 'sample')}{error}"
    )
