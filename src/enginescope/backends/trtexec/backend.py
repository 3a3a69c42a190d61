"""The backend called ``trtexec``: one process of NVIDIA's tool for each job."""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec

from enginescope.backends.base import Availability, FeedSource, Measured, ProgressSink
from enginescope.backends.named_files import check_named_files
from enginescope.backends.profile_bounds import with_range_hint
from enginescope.backends.trtexec.binary import dotted, find_binary, version_of
from enginescope.backends.trtexec.command import check_options, command_for
from enginescope.backends.trtexec.gpu_beside import GpuBeside
from enginescope.backends.trtexec.outcome import measured_from
from enginescope.backends.trtexec.process import peak_of_children_bytes, run
from enginescope.core.errors import BackendError, EnginescopeError, UnsupportedError
from enginescope.formats.trtexec.log_lines import newer_release_text
from enginescope.records.run.job import BackendSpec, Job


class TrtexecBackend:
    """trtexec 8.6, 10.x or 11.x, where one is installed."""

    #: Fields of `Mode` that it has flags for.
    mode_fields = frozenset({"kind", "transfers", "cuda_graph", "spin_wait", "streams", "idle_ms"})

    def check(self, spec: BackendSpec) -> None:
        """Refuse a precision, an option or an argument that no version takes."""
        check_options(spec)

    def require(self, spec: BackendSpec) -> None:
        """Say that there is no trtexec, or not where the specification has it, or a file is not.

        Raises:
            MissingDependencyError: There is none.
            UsageError: What was asked for is no such file, or cannot be executed.
        """
        check_named_files(spec, one=("refit_from",), several=("plugins", "serialize_plugins"))
        find_binary(spec.options.get("binary"))

    def availability(self) -> Availability:
        """Say which trtexec is there, asking it for its version alone."""
        try:
            binary = find_binary()
            version = version_of(binary)
        except EnginescopeError as error:
            return Availability(usable=False, detail=str(error), hint=error.hint)
        newer = newer_release_text(version)
        more = f"; {newer}" if newer else ""
        return Availability(usable=True, detail=f"TensorRT {dotted(version)}: {binary}{more}")

    def prepare(self) -> None:
        """Nothing to import; the binary depends on the job."""

    def execute(self, job: Job, feeds: FeedSource, progress: ProgressSink) -> Measured:
        """Build where needed, measure, profile and inspect: all in one run of trtexec."""
        if job.subject.kind not in ("onnx", "engine") or job.subject.path is None:
            raise UnsupportedError(
                f"trtexec cannot run {job.subject.name}",
                why="it is neither an ONNX model nor an engine",
            )
        binary = find_binary(job.backend.options.get("binary"))
        version = version_of(binary)
        with tempfile.TemporaryDirectory(prefix="enginescope-trtexec-") as made:
            folder = Path(made)
            command = command_for(binary, version, job, feeds, folder)
            with GpuBeside(job.telemetry, _device(command.arguments)) as gpu:
                ended = run(
                    command.arguments,
                    command.expected_ms,
                    progress,
                    profiles=job.layer_profile,
                    beside=gpu,
                )
            try:
                measured = measured_from(ended, command, job, version, folder)
            except BackendError as error:
                raise with_range_hint(error, command.fed.random_integers) from error
        seen = gpu.result()
        return msgspec.structs.replace(
            measured,
            peak_memory_bytes=peak_of_children_bytes(),
            gpu=seen,
            notices=(*measured.notices, *gpu.notices),
        )


def _device(arguments: tuple[str, ...]) -> str:
    """Return the number of the GPU that trtexec uses, in CUDA's count."""
    given = [one.partition("=")[2] for one in arguments if one.startswith("--device=")]
    return given[-1] if given else "0"
