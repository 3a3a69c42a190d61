"""What ``serve --config`` reads: gates with their baselines, and webhooks."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import msgspec

from enginescope.core.errors import FormatError, UsageError
from enginescope.core.jsonio import prepared, read_bytes
from enginescope.core.record import Record, copied, replace
from enginescope.core.toml import TOMLDecodeError, parse_toml
from enginescope.records.verdict import gate as gate_records

Percent = Annotated[float, msgspec.Meta(ge=0, le=1_000)]
#: Below this a secret could be guessed.
LEAST_SECRET_BYTES = 16
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class GatePart(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table ``[[gate]]``: a baseline, and what is compared with it.

    Attributes:
        baseline, current: Tags, runs, suites, folders, as ``enginescope gate`` takes them; without
            `current`, the runs that are newer than the baseline's.
        max_regression: In percent: of latency, or of each metric.
        public_badge: Whether the badge needs no token.
    """

    name: str
    baseline: tuple[str, ...]
    current: tuple[str, ...] = ()
    max_regression: Percent | dict[str, Percent] = gate_records.DEFAULT_REGRESSION_PCT
    inconclusive: gate_records.InconclusivePolicy = "fail"
    across: tuple[str, ...] = ()
    confidence: Annotated[float, msgspec.Meta(ge=0.5, le=0.9999)] = 0.95
    public_badge: bool = False

    @property
    def terms(self) -> gate_records.GateTerms:
        """What the gate is checked against."""
        limits = self.max_regression
        by_metric = limits if isinstance(limits, dict) else {"latency": limits}
        pairs = by_metric.items()
        terms = tuple(gate_records.Limit(metric=name, regression_pct=pct) for name, pct in pairs)
        return copied(gate_records.GateTerms, self, limits=terms)


class WebhookPart(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table ``[[webhook]]``: who is told when the level of a history changes.

    Attributes:
        secret_file: What requests are signed with; from the folder of the file of settings.
        models: Names of models; without any, all.
        only_worse: Whether improvements are left out.
        server: Address of this server for links in the message.
    """

    name: str
    url: str
    secret_file: str
    models: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ("latency",)
    only_worse: bool = False
    server: str = ""


class Configuration(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file."""

    gate: tuple[GatePart, ...] = ()
    webhook: tuple[WebhookPart, ...] = ()


def read_configuration(file: Path) -> Configuration:
    """Return what a file says, with the paths of secrets in full."""
    source = str(file)
    try:
        data = parse_toml(read_bytes(file).decode("utf-8"))
        read = msgspec.convert(data, prepared(Configuration))
    except (TOMLDecodeError, UnicodeDecodeError) as error:
        raise FormatError(source, why=f"not valid TOML ({error})") from None
    except msgspec.ValidationError as error:
        why, _, place = str(error).partition(" - at ")
        where = place.strip("`").removeprefix("$.") or None
        raise FormatError(source, where=where, why=why) from None
    _check_names((gate.name for gate in read.gate), "gate", source)
    _check_names((hook.name for hook in read.webhook), "webhook", source)
    for gate in read.gate:
        _check_gate(gate, source)
    return replace(read, webhook=tuple(_checked_webhook(hook, file) for hook in read.webhook))


def _check_names(names: Iterable[str], kind: str, source: str) -> None:
    known: set[str] = set()
    for name in names:
        if _NAME.fullmatch(name) is None or name in known:
            why = "there are two" if name in known else "a name is up to 64 letters, digits, _, -"
            raise FormatError(source, where=f"{kind} {name!r}", why=why)
        known.add(name)


def _check_gate(gate: GatePart, source: str) -> None:
    from enginescope.analysis.verdicts.comparability import differences
    from enginescope.analysis.verdicts.compared_figures import check_metric

    if not gate.baseline:
        raise FormatError(source, where=f"gate {gate.name!r}", why="its baseline names nothing")
    for name in (*gate.baseline, *gate.current):
        if Path(name).name == name and Path(name).exists():  # it would be read in place of a tag
            why = f"{name} may be of the store, and is in the working directory too"
            expected = f"./{name}, or a server that is started elsewhere"
            raise FormatError(source, where=f"gate {gate.name!r}", why=why, expected=expected)
    try:
        for limit in gate.terms.limits:
            check_metric(limit.metric)
        differences((), (), across=gate.across)
    except UsageError as error:
        raise FormatError(source, where=f"gate {gate.name!r}", why=str(error)) from error


def _checked_webhook(hook: WebhookPart, file: Path) -> WebhookPart:
    from enginescope.analysis.verdicts.compared_figures import check_metric

    where = f"webhook {hook.name!r}"
    try:
        parts = urlsplit(hook.url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_address = False
    if not is_address:  # the address is not repeated: it may be a secret
        raise FormatError(str(file), where=where, why="its url is not an http:// or https:// one")
    secret = file.parent / Path(hook.secret_file).expanduser()
    try:
        size = len(secret.read_bytes().strip())
    except OSError as error:
        raise FormatError(str(secret), where=where, why=error.strerror or str(error)) from error
    if size < LEAST_SECRET_BYTES:
        why = f"it has {size} bytes, fewer than {LEAST_SECRET_BYTES}"
        raise FormatError(str(secret), where=where, why=why)
    try:
        metrics = tuple(check_metric(metric) for metric in hook.metrics)
    except UsageError as error:
        raise FormatError(str(file), where=where, why=str(error)) from error
    return replace(hook, secret_file=str(secret), metrics=metrics)
