"""The rules in the order of their codes, their configuration, and their Markdown.

A new rule is a function under `rule` in a file of `checks`, or in a plug-in's module.
"""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, Literal

from enginescope.core.errors import EnginescopeError, UsageError
from enginescope.core.plugins import Registry
from enginescope.core.record import Record
from enginescope.core.suggest import did_you_mean
from enginescope.rules.base import Finding, Rule, Severity

_CHECKS = ("copies", "fusion", "precision", "products", "whole")
#: Modules with rules.
RULE_MODULES = Registry("rule", {name: f"enginescope.rules.checks.{name}" for name in _CHECKS})


def rules_in(modules: Iterable[Any]) -> tuple[Rule, ...]:
    """Return the rules in modules, by code."""
    values = (value for module in modules for value in getattr(module, "__dict__", {}).values())
    found = (value for value in values if type(value) is Rule)
    return tuple(sorted(found, key=lambda rule: rule.code))


#: The built-in rules.
RULES: tuple[Rule, ...] = rules_in(map(RULE_MODULES.load, RULE_MODULES.built_in))


def every_rule() -> tuple[Rule, ...]:
    """Return the rules, and behind them those of plug-ins."""
    return (*RULES, *_outside()[0])


def broken_rules() -> dict[str, str]:
    """Return why plug-ins with rules cannot be used, by name."""
    return _outside()[1]


@cache
def _outside() -> tuple[tuple[Rule, ...], dict[str, str]]:
    usable: list[Rule] = []
    broken: dict[str, str] = {}
    for name, module in RULE_MODULES.usable():
        if isinstance(module, EnginescopeError):
            broken[name] = str(module)
            continue
        known = {word for rule in (*RULES, *usable) for word in (rule.code, rule.name)}
        found = rules_in([module])
        taken = [rule.code for rule in found if not known.isdisjoint((rule.code, rule.name))]
        usable += [rule for rule in found if rule.code not in taken]
        if taken or not found:
            why = f"other rules have its codes or names: {', '.join(taken)}"
            broken[name] = f"rule {name}: {why if taken else 'its module has no rule'}"
    return tuple(usable), broken


HEADINGS = ("What it looks for", "Why it costs time", "What to do", "When it is wrong")
_INTRODUCTION = """# Rules of `enginescope lint`

<!-- Made from the rules' docstrings by `make reference`. -->

The report sorts findings by the time at stake: the time that the finding could save at most. It
subtracts the profiler's own time per layer, if the engine was timed without a profiler too. On a
known GPU, PLAN101, PLAN102, PLAN107 and PLAN108 also subtract the time that the layer needs at the
GPU's peak rates. A layer near its limit has little to save, whatever its tactic. The GPU is known
from the run, from `--gpu`, or from a file beside the plan: trex's `net.profile.metadata.json`, or
trtexec's timing log as `net.profile.log` or `net.log`.

Time counts once: time at stake in one finding is not at stake in another. So all stakes add up to
the engine's time at most. A rule may explain others: their findings on the same layers are
symptoms, and the report lists them with the cause. If a plan does not prove a claim, the finding is
a question. The terminal and the page show equal findings in repeated blocks as one line.

A rule may raise or lower its usual severity, as its text says. A cause is as severe as its worst
symptom. `enginescope lint` exits with 1 if a finding is a warning or an error; `--level` changes
that.

Select rules by code, by the beginning of a code (`PLAN1`), or by name, on the command line
(`--select`, `--ignore`) or in `enginescope.toml`:

```toml
[lint]
ignore = ["data-copies"]
level = "error"

[lint.layers]  # names of layers, with * and ?
"/head/*" = ["PLAN110"]
```
"""


def paragraphs(rule: Rule) -> dict[str, str]:
    """Return a rule's paragraphs by heading, each on one line."""
    found = {}
    for paragraph in rule.doc.strip().split("\n\n")[1:]:
        heading, _, text = " ".join(paragraph.split()).partition(": ")
        found[heading] = text[:1].upper() + text[1:]
    return found


def catalogue(rules: tuple[Rule, ...] = RULES) -> str:
    """Return the reference page of the rules as Markdown, with a newline at the end."""
    general = ", ".join(rule.code for rule in rules if rule.is_general)
    executed = f"Of a graph that ONNX Runtime or OpenVINO executed, lint checks {general}.\n"
    lines = [_INTRODUCTION, executed, "| code | name | severity | what |", "|---|---|---|---|"]
    lines += [
        f"| [{rule.code}](#{rule.code.lower()}) | `{rule.name}` | {rule.severity.value} | "
        f"{rule.summary} |"
        for rule in rules
    ]
    for rule in rules:
        lines += ["", f"## {rule.code}", "", f"`{rule.name}`: {rule.summary}."]
        if rule.explains:
            linked = ", ".join(f"[{code}](#{code.lower()})" for code in rule.explains)
            lines += ["", f"**Explains.** {linked} on the same layers."]
        for heading, text in paragraphs(rule).items():
            lines += ["", f"**{heading}.** {text}"]
    return "\n".join(lines) + "\n"


Level = Literal["info", "warning", "error", "never"]
LEVELS: tuple[Level, ...] = ("info", "warning", "error", "never")
_KEYS = ("select", "ignore", "level", "layers")


class LayerIgnore(Record, frozen=True, kw_only=True):
    """Rules to ignore for layers with certain names.

    Attributes:
        pattern: Name of a layer, or a pattern with ``*`` and ``?``.
        rules: Codes of rules, beginnings of codes, or names.
    """

    pattern: str
    rules: tuple[str, ...]


class LintConfig(Record, frozen=True, kw_only=True):
    """Which rules run, and which findings count.

    Attributes:
        select: Codes of rules, beginnings of codes (``PLAN1``) or names; empty: all rules.
        ignore: Codes or names of rules to skip, even if `select` has them.
        level: Lowest severity at which a finding counts as bad.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    level: Level = "warning"
    layers: tuple[LayerIgnore, ...] = ()

    def rules(self) -> tuple[Rule, ...]:
        """Return the selected rules that are not ignored."""
        return tuple(
            rule
            for rule in every_rule()
            if (not self.select or fits(rule.code, rule.name, self.select))
            and not fits(rule.code, rule.name, self.ignore)
        )

    def passes_over(self, rule: Rule, names: Iterable[str]) -> bool:
        """Whether a finding is suppressed, because a pattern matches each of its names.

        Args:
            names: Names of the affected layers, or only the subject.
        """
        patterns = [each.pattern for each in self.layers if fits(rule.code, rule.name, each.rules)]
        if not patterns:
            return False
        found = list(names)
        return bool(found) and all(any(_matches(name, it) for it in patterns) for name in found)

    def is_bad(self, finding: Finding) -> bool:
        """Whether the severity of a finding is at least the level."""
        return self.level != "never" and finding.severity.weight >= Severity(self.level).weight


def fits(code: str, name: str, wanted: Iterable[str]) -> bool:
    """Whether a code, the beginning of a code, or a name selects the rule."""
    return any(code.startswith(one.upper()) or name == one for one in wanted)


def checked(names: Iterable[str]) -> tuple[str, ...]:
    """Check names of rules, and return them unchanged."""
    found = tuple(names)
    for name in found:
        if not name or not any(fits(rule.code, rule.name, (name,)) for rule in every_rule()):
            known = [word for rule in every_rule() for word in (rule.code, rule.name)]
            hint = did_you_mean(name, known)
            why = "; ".join(broken_rules().values()) or None
            raise UsageError(f"there is no rule {name!r}", why=why, hint=hint)
    return found


def config_of(table: Mapping[str, Any], source: str) -> LintConfig:
    """Read the configuration from a ``[lint]`` table.

    Args:
        table: ``select``, ``ignore``: lists of rules; ``level``; ``layers``: a table from names of
            layers to lists of rules.
        source: Name of the file for messages.
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
        hint = 'as in ["PLAN104", "tiny-kernels"]'
        raise UsageError(f"{where} is not a list of rules", hint=hint)
    try:
        return checked(value)
    except UsageError as error:
        raise UsageError(where, why=error.what, hint=error.hint) from None


def _matches(name: str, pattern: str) -> bool:
    # fnmatch reads the brackets in TensorRT's names as a set of characters
    return name == pattern or fnmatchcase(name, pattern.replace("[", "[[]"))
