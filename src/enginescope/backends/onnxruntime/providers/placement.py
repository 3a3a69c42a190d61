"""Which provider really runs the model.

``get_available_providers`` lists what a wheel was built with, not what can load here; a session
asked for CUDA may come back on the CPU with a line on standard error, or none. So a figure is
labeled with a provider only after the session itself, and where it can say so its node
assignment, have confirmed it.

Can a provider be started at all? Only a session can tell.

Run as a module with a provider's name, it opens a one-node model and prints why that failed: in
a process of its own, because a provider's libraries write to standard error and may take the
process with them.
"""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import redirect_stdout
from typing import Any, Literal, TypeAlias

from enginescope.backends.onnxruntime.providers import providers
from enginescope.backends.onnxruntime.providers.opening import Setup, preload
from enginescope.core.errors import BackendError, UnsupportedError
from enginescope.core.optional import require
from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.records.plan.plan import Profile
from enginescope.records.run.job import CPU_BACKEND
from enginescope.records.run.run import ProviderShare

#: Session configuration that makes ONNX Runtime (1.24 and later) remember its node assignment.
RECORD_ASSIGNMENT = "session.record_ep_graph_assignment_info"

Placement: TypeAlias = tuple[ProviderShare, ...]


def read_placement(session: Any) -> Placement:
    """Return nodes and subgraphs per provider; empty before ONNX Runtime 1.24."""
    ask = getattr(session, "get_provider_graph_assignment_info", None)
    if ask is None:
        return ()
    operators: dict[str, Counter[str]] = {}
    subgraphs: Counter[str] = Counter()
    for part in ask():
        taken = operators.setdefault(part.ep_name, Counter())
        for node in part.get_nodes():
            domain = f"{node.domain}::" if node.domain not in ("", "ai.onnx") else ""
            taken[f"{domain}{node.op_type}"] += 1
        subgraphs[part.ep_name] += 1
    shares = (
        ProviderShare(
            provider=name,
            nodes=sum(taken.values()),
            subgraphs=subgraphs[name],
            operators=dict(taken.most_common()),
        )
        for name, taken in operators.items()
    )
    return tuple(sorted(shares, key=lambda one: -one.nodes))


def with_reasons(placement: Placement, provider: str, reasons: Mapping[str, str]) -> Placement:
    """Return the shares of the other providers with what is known of why."""

    def explained(share: ProviderShare) -> ProviderShare:
        known = {op: why for op, why in reasons.items() if op in share.operators}
        return share if share.provider == provider else replace(share, reasons=known)

    return tuple(map(explained, placement))


def require_provider(
    ort: Any, session: Any, provider: providers.Provider, placement: Placement
) -> None:
    """Raise `UnsupportedError` unless `provider` is in the session and took at least one node."""
    active = tuple(session.get_providers())
    if provider.name not in active:
        raise providers.did_not_start(
            ort, provider, f"ONNX Runtime fell back to {', '.join(active) or 'nothing'}"
        )
    if placement and not any(share.provider == provider.name for share in placement):
        took = ", ".join(f"{share.provider} {share.nodes}" for share in placement)
        raise _took_nothing(provider, f"nodes were placed on: {took}")


def require_work(provider: providers.Provider, placement: Placement, profile: Profile) -> None:
    """Raise `UnsupportedError` if the profile knows no node of `provider`.

    For an ONNX Runtime that keeps no node assignment.
    """
    seen = Counter(layer.provider for layer in profile.layers if layer.provider)
    if placement or not seen or provider.name in seen:
        return
    took = ", ".join(f"{name} {count}" for name, count in seen.most_common())
    raise _took_nothing(provider, f"kernels ran on: {took}")


def _took_nothing(provider: providers.Provider, why: str) -> UnsupportedError:
    hint = f"measure it with the backend that runs it, such as --on {CPU_BACKEND}"
    return UnsupportedError(f"{provider.name} took no node of this model", why=why, hint=hint)


def leftover_notices(setup: Setup, active: tuple[str, ...]) -> tuple[Notice, ...]:
    """Return what is to be said of providers and options that are not as asked."""
    provider, found = setup.provider, []
    for name in setup.leftover:
        if name not in active:
            message = f"{name} did not start: the CPU runs nodes that {provider.name} leaves"
            found.append(Notice("W-LEFTOVER-ON-CPU", message, {"provider": name}))
    if provider.is_cpu:
        return tuple(found)
    for key, near in providers.unknown(setup.provider_options, provider.options).items():
        passed = f"passes it on unchanged{f'; did you mean {near}?' if near else ''}"
        message = f"{provider.backend}: {key} is an unknown option; enginescope {passed}"
        level: Literal["warning", "info"] = "warning" if near else "info"
        found.append(Notice("W-UNKNOWN-OPTION", message, {"option": key}, level=level))
    return tuple(found)


_TIMEOUT_S = 60
_MISSING_LIBRARY = re.compile(r"(\S+\.so[.\d]*): cannot open shared object file")


def probe_failure(provider: str) -> str | None:
    """Return why `provider` cannot be started here, or ``None`` if it can."""
    command = [sys.executable, "-m", __name__, provider]
    try:
        ended = subprocess.run(
            command,
            capture_output=True,
            encoding="utf-8",
            errors="replace",  # libraries of several makers write to it
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"starting it took more than {_TIMEOUT_S} s"
    if ended.returncode < 0:
        return f"starting it kills the process (signal {-ended.returncode})"
    reason = ended.stdout.strip()
    missing = _MISSING_LIBRARY.search(ended.stderr)
    if reason and missing:
        return f"library {missing[1]} is missing"
    if ended.returncode != 0 and not reason:
        return ended.stderr.strip().splitlines()[-1] if ended.stderr.strip() else "unknown"
    return reason or None


def start(ort: Any, provider: str) -> None:
    """Open a one-node model on `provider`; of a separate library, find its devices."""
    options, meant = ort.SessionOptions(), providers.provider_called(provider)
    if meant.on_cuda:
        with redirect_stdout(sys.stderr):  # it says on standard output what it cannot load
            preload(ort)
    library = None
    if provider not in ort.get_available_providers():
        library = providers.library_of(meant, None)
    if library is not None:
        providers.devices_of(ort, meant, library)
        return
    with providers.translated(f"starting {provider}"):
        session = ort.InferenceSession(
            _one_node_model(), options, providers=[provider], enable_fallback=0
        )
        require_provider(ort, session, meant, ())


def _one_node_model() -> bytes:
    require("onnx", purpose="probing an execution provider", install="onnx")
    from onnx import TensorProto, helper

    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "probe", [x], [y])
    # set both: onnx writes newer versions by default than onnxruntime reads
    opsets = [helper.make_opsetid("", 17)]
    return bytes(helper.make_model(graph, ir_version=8, opset_imports=opsets).SerializeToString())


def main(arguments: list[str]) -> int:
    """Start the provider named on the command line; write the reason if it fails."""
    import onnxruntime

    try:
        start(onnxruntime, arguments[0])
    except BackendError as error:
        sys.stdout.write(str(error).splitlines()[0])
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
