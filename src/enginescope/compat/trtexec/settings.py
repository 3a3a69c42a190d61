"""What a command line of trtexec asks for, with the defaults of the TensorRT in use.

Rules fill in the shapes that the command line does not name.
"""

import re
from pathlib import Path

from enginescope.compat.trtexec.arguments import (
    Arguments,
    decimal_number,
    flags_without_effect,
    whole_number,
)
from enginescope.compat.trtexec.build_settings import options_of, precision_of
from enginescope.core.errors import UsageError
from enginescope.core.record import Record, copied
from enginescope.formats.trtexec.trtexec_flags import newer_release_text
from enginescope.records.run import job

Shapes = tuple[job.InputShape, ...]

_ROLES = {"--minShapes": "min", "--optShapes": "opt", "--maxShapes": "max"}


class ProfileSpec(Record, frozen=True, kw_only=True):
    """The shapes of one optimization profile, all three filled in."""

    minimum: Shapes = ()
    optimum: Shapes = ()
    maximum: Shapes = ()

    @property
    def roles(self) -> tuple[Shapes, Shapes, Shapes]:
        return self.minimum, self.optimum, self.maximum


def parse_shapes(flag: str, text: str) -> Shapes:
    """Return the shapes in ``name:1x3x224x224,name2:scalar``.

    The last colon splits; names may stand in single quotes.
    """
    return tuple(_shape(flag, part) for part in split_outside_quotes(text))


def parse_files(flag: str, text: str) -> tuple[tuple[str, str], ...]:
    """Return (name, file) of each part in ``name:file,'a:b':file``."""
    pairs = []
    for part in split_outside_quotes(text):
        quoted = re.match(r"^'([^']*)':(.+)$", part)
        name, colon, file = (quoted[1], ":", quoted[2]) if quoted else part.partition(":")
        if not colon or not name or not file:
            raise UsageError(f"{flag}: {part!r} is not NAME:FILE")
        pairs.append((name, file))
    return tuple(pairs)


def split_outside_quotes(text: str) -> list[str]:
    """Return the parts between commas; commas in single quotes stay."""
    return [part for part in re.findall(r"(?:'[^']*'|[^,'])+", text) if part]


def profiles_of(arguments: Arguments) -> tuple[tuple[ProfileSpec, ...], tuple[str, ...]]:
    """Return the optimization profiles asked for, and trtexec's remarks on what it filled in.

    Shapes belong to the ``--profile=N`` before them, to profile 0 without one.
    """
    found: dict[int, dict[str, Shapes]] = {}
    current = 0
    for one in arguments.given:
        if one.name == "--profile":
            current = whole_number(one.name, one.value)
            found.setdefault(current, {})
        elif one.name in _ROLES:
            roles = found.setdefault(current, {})
            if _ROLES[one.name] in roles:
                raise UsageError(f"{one.name} is given twice for profile {current}")
            roles[_ROLES[one.name]] = parse_shapes(one.name, one.value)
    if sorted(found) != list(range(len(found))):
        what = f"--profile={','.join(map(str, sorted(found)))}"
        raise UsageError(what, why="the indices must be 0, 1, 2, … without a gap")
    filled = [_filled(index, found[index]) for index in sorted(found)]
    remarks = tuple(remark for _, remarks in filled for remark in remarks)
    return tuple(profile for profile, _ in filled if profile is not None), remarks


def dims_text(dims: tuple[int | None, ...]) -> str:
    """Return ``1x3x224x224``; ``-1`` for a dimension that is not known."""
    return "x".join("-1" if dim is None else str(dim) for dim in dims)


def option_text(shapes: Shapes) -> str:
    """Return shapes as the backend's options have them: ``x:1x3,ids:1x128``."""
    return ",".join(f"{shape.name}:{dims_text(shape.dims) or 'scalar'}" for shape in shapes)


def _filled(index: int, roles: dict[str, Shapes]) -> tuple[ProfileSpec | None, tuple[str, ...]]:
    """Fill in a missing role from its neighbor: min and max from opt, opt from max, then min."""
    if not roles:
        raise UsageError(f"--profile={index}", why="no shapes follow it")
    sources = {
        "min": next(one for one in ("min", "opt", "max") if one in roles),
        "opt": next(one for one in ("opt", "max", "min") if one in roles),
        "max": next(one for one in ("max", "opt", "min") if one in roles),
    }
    profile = ProfileSpec(
        minimum=roles[sources["min"]], optimum=roles[sources["opt"]], maximum=roles[sources["max"]]
    )
    names = [{shape.name for shape in shapes} for shapes in profile.roles]
    missing = names[0].union(*names) - names[0].intersection(*names)
    if missing:
        why = "minShapes, optShapes and maxShapes do not name the same inputs: "
        why += ", ".join(sorted(missing))
        raise UsageError(f"the shapes of profile {index}", why=why)
    remarks = tuple(
        f"{source}Shapes is being broadcasted to {role}Shapes for tensor {one.name}"
        for role, source in sources.items()
        if role != source
        for one in roles[source]
    )
    return profile, remarks


def _shape(flag: str, part: str) -> job.InputShape:
    name, colon, dims = part.rpartition(":")
    name = name[1:-1] if len(name) > 1 and name[0] == name[-1] == "'" else name
    if not colon or not name:
        raise UsageError(f"{flag}: {part!r} is not NAME:DIMS", hint="as in image:1x3x224x224")
    if "*" in name:
        why = "the inputs' names are not known before the model is parsed"
        raise UsageError(f"{flag}: {name!r} has a wildcard", why=why, hint="name each input")
    if "," in name or ";" in name:
        raise UsageError(f"{flag}: {name!r}", why="a name with , or ; cannot be passed on")
    if dims in ("", "scalar"):
        return job.InputShape(name=name, dims=())
    sizes = tuple(int(one) for one in dims.split("x")) if re.match(r"^\d+(x\d+)*$", dims) else ()
    if not sizes or max(sizes) > 2**31 - 1:
        raise UsageError(f"{flag}: {part!r} is not NAME:DIMS", hint="as in image:1x3x224x224")
    return job.InputShape(name=name, dims=sizes)


#: Hours that no build and no measurement takes: trtexec has no limit of its own.
_LONGEST_S = 3.6e6


class Timing(Record, frozen=True, kw_only=True):
    """How queries are issued and for how long.

    Attributes:
        iterations: Rounds at least, each of one query a stream.
    """

    iterations: int = 10
    warm_up_ms: float = 200.0
    duration_s: float = 3.0
    idle_ms: float = 0.0
    streams: int = 1
    expose_dma: bool = False
    transfers: bool = True
    spin_wait: bool = False
    cuda_graph: bool = False


class Settings(Record, frozen=True, kw_only=True):
    """A command line, understood.

    Attributes:
        profiles: Optimization profiles to build with.
        shapes: To run with, as given; for an engine that is loaded the optimum will do.
        options: Of the backend.
    """

    arguments: Arguments
    onnx: str | None = None
    load_engine: str | None = None
    save_engine: str | None = None
    skip_inference: bool = False
    version_only: bool = False
    profiles: tuple[ProfileSpec, ...] = ()
    shapes: Shapes = ()
    files: tuple[job.InputFile, ...] = ()
    precision: str | None = None
    options: dict[str, str] = {}  # noqa: RUF012 - msgspec copies empty defaults
    timing: Timing = Timing()
    average_runs: int = 10
    percentiles: tuple[float, ...] = (90.0, 95.0, 99.0)
    warnings: tuple[str, ...] = ()

    @property
    def model(self) -> str:
        return self.load_engine or self.onnx or ""

    @property
    def profile_index(self) -> int:
        return int(self.options.get("profile_index", "0"))


def settings_of(arguments: Arguments) -> Settings:
    """Return what a command line asks for."""
    onnx, load = arguments.text("--onnx") or None, arguments.text("--loadEngine") or None
    _check_model(arguments, onnx, load)
    profiles, remarks = profiles_of(arguments)
    shapes = parse_shapes("--shapes", arguments.text("--shapes"))
    if load is not None:
        shapes = shapes or _optimum(profiles, arguments)
        profiles, remarks = (), ()
    elif not profiles and shapes:
        profiles = (ProfileSpec(minimum=shapes, optimum=shapes, maximum=shapes),)
    precision, ignored = precision_of(arguments)
    files = parse_files("--loadInputs", arguments.text("--loadInputs"))
    settings = Settings(
        arguments=arguments,
        onnx=onnx,
        load_engine=load,
        save_engine=arguments.text("--saveEngine") or None,
        skip_inference=arguments.has("--skipInference")
        or arguments.text("--runtimePlatform").lower() == "windowsamd64",
        version_only=arguments.has("--getPlanVersionOnly"),
        profiles=profiles,
        shapes=shapes,
        files=tuple(job.InputFile(name=name, path=path) for name, path in files),
        precision=precision,
        options={**options_of(arguments), **_shape_options(profiles)},
        timing=_timing(arguments),
        average_runs=arguments.integer("--avgRuns", 10, least=1),
        percentiles=_percentiles(arguments.text("--percentile", "90,95,99")),
        warnings=(
            *filter(None, [newer_release_text(arguments.version.parts)]),
            *arguments.warnings,
            *remarks,
            *ignored,
            *flags_without_effect(arguments),
        ),
    )
    index, count = settings.profile_index, max(1, len(profiles))
    if index < 0 or (load is None and index >= count):
        raise UsageError(f"--useProfile={index}", why=f"there are {count} profiles")
    return settings


def run_shapes(settings: Settings) -> Shapes:
    """Return the shapes to run with: those given, else the optimum of the profile in use."""
    if settings.shapes or not settings.profiles:
        return settings.shapes
    return settings.profiles[settings.profile_index].optimum


def _check_model(arguments: Arguments, onnx: str | None, load: str | None) -> None:
    if load is None and onnx is None:
        raise UsageError("neither a model nor an engine", hint="--onnx=FILE or --loadEngine=FILE")
    if load is not None and arguments.has("--saveEngine"):
        raise UsageError("--loadEngine and --saveEngine", why="a loaded engine is not saved again")
    for name in ("--refitFromOnnx", "--getPlanVersionOnly"):
        if arguments.has(name) and load is None:
            raise UsageError(f"{name} without --loadEngine", why="it needs a loaded engine")
    if arguments.text("--useRuntime", "full") != "full" and load is None:
        what = f"--useRuntime={arguments.text('--useRuntime')} without --loadEngine"
        raise UsageError(what, why="only the full runtime builds engines")


def _optimum(profiles: tuple[ProfileSpec, ...], arguments: Arguments) -> Shapes:
    """Return what ``--optShapes`` says of the profile in use: trtexec runs a loaded engine so."""
    index = arguments.integer("--useProfile", 0)
    asked = arguments.has("--optShapes") and 0 <= index < len(profiles)
    return profiles[index].optimum if asked else ()


def _shape_options(profiles: tuple[ProfileSpec, ...]) -> dict[str, str]:
    rows = zip(*(profile.roles for profile in profiles), strict=True)
    options = ("min_shapes", "opt_shapes", "max_shapes")
    return {key: ";".join(map(option_text, row)) for key, row in zip(options, rows, strict=False)}


def _timing(arguments: Arguments) -> Timing:
    if decimal_number("--duration", arguments.text("--duration", "3")) == -1:
        raise UsageError("--duration=-1 is not supported", why="an endless run never reports")
    duration, warm_up = arguments.number("--duration", 3), arguments.number("--warmUp", 200)
    if duration + warm_up / 1e3 > _LONGEST_S:
        raise UsageError(f"--duration={duration:g}", why=f"{_LONGEST_S:g} s is the most")
    has, flipped = arguments.has, arguments.version.major >= 11
    return Timing(
        iterations=arguments.integer("--iterations", 10, least=0),
        warm_up_ms=warm_up,
        duration_s=duration,
        idle_ms=arguments.number("--idleTime", 0),
        streams=arguments.integer("--infStreams", 1, least=1),
        expose_dma=has("--exposeDMA"),
        transfers=has("--includeDataTransfers") if flipped else not has("--noDataTransfers"),
        spin_wait=not has("--noSpinWait") if flipped else has("--useSpinWait"),
        cuda_graph=not has("--noCudaGraph") if flipped else has("--useCudaGraph"),
    )


def _percentiles(text: str) -> tuple[float, ...]:
    values = tuple(decimal_number("--percentile", part) for part in text.split(","))
    if any(not 0 <= value <= 100 for value in values):
        raise UsageError(f"--percentile={text}", why="percentiles are between 0 and 100")
    return values


#: trtexec waits as long as a build takes; a week is as good as endless.
NO_TIMEOUT_S = 7 * 86_400.0


def job_of(settings: Settings, subject: job.Subject) -> job.Job:
    """Return the job.

    The warm-up lasts exactly its time, and comes before the duration. The loop ends when both the
    duration and the rounds are over; a round is one query of each stream.

    Args:
        subject: The model or engine; its kind is what the command line says, whatever the file's
            name.
    """
    timing, has = settings.timing, settings.arguments.has
    min_iterations = timing.iterations * timing.streams
    duration_ms = timing.duration_s * 1e3
    stop = job.StopRule(duration_ms=duration_ms, min_iterations=min_iterations, precision_pct=None)
    if settings.skip_inference:  # an engine is only loaded, and run once to be sure of it
        stop = job.StopRule(iterations=1, precision_pct=None)
    wants_layers = has("--dumpProfile") or has("--exportProfile")
    warmup = job.WarmUp(time_ms=timing.warm_up_ms, iterations=0, limit_ms=timing.warm_up_ms)
    in_flight = 1 if timing.expose_dma else 2
    idle_ms = timing.idle_ms or None
    return job.Job(
        subject=subject,
        backend=job.BackendSpec(name="trt", precision=settings.precision, options=settings.options),
        workload=job.Workload(
            shapes=run_shapes(settings),
            files=tuple(
                job.InputFile(name=file.name, path=str(Path(file.path).resolve()))
                for file in settings.files
            ),
            warmup=warmup,
            stop=stop,
            mode=copied(job.Mode, timing, kind="throughput", in_flight=in_flight, idle_ms=idle_ms),
        ),
        layer_profile=wants_layers and not settings.skip_inference,
        profile_mode="trtexec",
        limits=job.Limits(timeout_s=NO_TIMEOUT_S),
        keep_outputs=any(map(has, ("--dumpOutput", "--dumpRawBindingsToFile", "--exportOutput"))),
    )
