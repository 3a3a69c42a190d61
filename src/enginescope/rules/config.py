"""Which rules run, and what they may pass over: from options and a ``[lint]`` table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Literal

from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.core.suggest import did_you_mean
from enginescope.rules.base import Finding, Rule, Severity
from enginescope.rules.catalogue import RULES

Level = Literal["info", "warning", "error", "never"]
LEVELS: tuple[Level, ...] = ("info", "warning", "error", "never")
_KEYS = ("select", "ignore", "level", "layers")


class LayerIgnore(Record, frozen=True, kw_only=True):
    """Rules that do not hold for layers of some names.

    Attributes:
        pattern: A layer's name, or one with ``*`` and ``?``.
        rules: Codes, beginnings of codes, or names.
    """

    pattern: str
    rules: tuple[str, ...]


class LintConfig(Record, frozen=True, kw_only=True):
    """What runs and what counts.

    Attributes:
        select: Codes, beginnings of codes (``PLAN1``) or names of rules; empty: all.
        ignore: Likewise; it goes before `select`.
        level: From which severity on a finding makes the answer bad.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    level: Level = "warning"
    layers: tuple[LayerIgnore, ...] = ()

    def rules(self, every: tuple[Rule, ...] = RULES) -> tuple[Rule, ...]:
        """Return the rules that run."""
        return tuple(
            rule
            for rule in every
            if (not self.select or fits(rule.code, rule.name, self.select))
            and not fits(rule.code, rule.name, self.ignore)
        )

    def passes_over(self, rule: Rule, names: Iterable[str]) -> bool:
        """Whether what a rule finds is suppressed: each of these names matches a pattern.

        Args:
            names: Of the layers concerned, or the subject alone.
        """
        patterns = [
            layer.pattern for layer in self.layers if fits(rule.code, rule.name, layer.rules)
        ]
        if not patterns:
            return False
        found = list(names)
        return bool(found) and all(
            any(_matches(name, pattern) for pattern in patterns) for name in found
        )

    def is_bad(self, finding: Finding) -> bool:
        """Whether a finding is at the level or above it."""
        return self.level != "never" and finding.severity.weight >= Severity(self.level).weight


def fits(code: str, name: str, wanted: Iterable[str]) -> bool:
    """Whether a rule is among those named."""
    return any(code.startswith(one.upper()) or name == one for one in wanted)


def checked(names: Iterable[str], every: tuple[Rule, ...] = RULES) -> tuple[str, ...]:
    """Return names of rules, as they are.

    Raises:
        UsageError: One names no rule.
    """
    found = tuple(names)
    for name in found:
        if not name or not any(fits(rule.code, rule.name, (name,)) for rule in every):
            known = [word for rule in every for word in (rule.code, rule.name)]
            raise UsageError(f"there is no rule {name!r}", hint=did_you_mean(name, known))
    return found


def config_of(table: Mapping[str, Any], source: str) -> LintConfig:
    """Return the configuration in a ``[lint]`` table.

    Args:
        table: ``select``, ``ignore``: lists of rules; ``level``; ``layers``: a table from names of
            layers to lists of rules.
        source: The file, for messages.

    Raises:
        UsageError: An unknown key, rule or level, or a value of another kind.
    """
    for key in table:
        if key not in _KEYS:
            raise UsageError(f"{source}: [lint] has no key {key!r}", hint=did_you_mean(key, _KEYS))
    level = table.get("level", "warning")
    if level not in LEVELS:
        raise UsageError(f"{source}: lint.level is {level!r}", hint=f"one of {', '.join(LEVELS)}")
    layers = table.get("layers", {})
    if not isinstance(layers, Mapping):
        raise UsageError(
            f"{source}: lint.layers is not a table",
            hint='as in [lint.layers] "head.*" = ["PLAN110"]',
        )
    return LintConfig(
        select=_names(table.get("select", []), f"{source}: lint.select"),
        ignore=_names(table.get("ignore", []), f"{source}: lint.ignore"),
        level=level,
        layers=tuple(
            LayerIgnore(pattern=pattern, rules=_names(rules, f"{source}: lint.layers.{pattern!r}"))
            for pattern, rules in layers.items()
        ),
    )


def _names(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise UsageError(
            f"{where} is not a list of rules", hint='as in ["PLAN104", "tiny-kernels"]'
        )
    try:
        return checked(value)
    except UsageError as error:
        raise UsageError(where, why=error.what, hint=error.hint) from None


def _matches(name: str, pattern: str) -> bool:
    # Names of TensorRT hold brackets, which fnmatch would take for a set of characters.
    return name == pattern or fnmatchcase(name, pattern.replace("[", "[[]"))
