"""Explain a notice, lint rule, verdict, outcome or exit code."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from enginescope.core.errors import UsageError
from enginescope.core.record import Record, Result
from enginescope.core.suggest import closest
from enginescope.judge.verdict import Reason, reason_text

_FIELDS = 4
#: The documentation's page of terms.
GLOSSARY = "https://enginescope.github.io/enginescope/explanation/glossary/"

#: Word of the output -> its code.
_PROSE = {"timed out": "timed_out", "out of memory": "out_of_memory"}
#: Words of sentences, and of sizes, rates and energy -> the code of the verdict.
_ALSO = {
    "no difference": "same",
    "not comparable": "incomparable",
    **{reason_text(reason): reason.value for reason in Reason},
    **dict.fromkeys(("smaller", "higher", "less"), "faster"),
    **dict.fromkeys(("larger", "lower", "more"), "slower"),
}


class Explanation(Result, Record, frozen=True, kw_only=True):
    """What a code means.

    Attributes:
        example: A case in which enginescope reports the code.
        action: The next step for the user.
    """

    code: str
    meaning: str
    example: str
    action: str

    def _summary(self) -> str:
        return f"{self.code}: {self.meaning}"


def explain(code: str) -> Explanation:
    """Return the explanation of a code.

    Args:
        code: A notice such as ``W-LOAD``, a lint rule by code or name, a verdict, its reason or an
            outcome such as ``faster``, ``inconclusive`` or ``interval-too-wide``, or an exit code
            such as ``3`` or ``exit-3``.

    Raises:
        UsageError: enginescope has no such code.
    """
    known = {one.code.lower(): one for one in explanations()}
    wanted = code.strip().lower()
    word = (_PROSE | _ALSO).get(wanted.partition(" above ")[0], "")
    for key in (wanted, word, f"exit-{wanted}", _rule_codes().get(wanted, "")):
        if key in known:
            return known[key]
    near = closest(wanted, known)
    hint = f"did you mean {known[near].code}?" if near else "enginescope explain lists the codes"
    if not re.match(r"[wih]-|(plan|time)\d", wanted):
        hint += f" For terms, see {GLOSSARY}" if near else f"; for terms, see {GLOSSARY}"
    raise UsageError(f"no code {code!r}", hint=hint)


def shown_word(code: str) -> str:
    """Return the word that the output shows for a code; `explain` knows both."""
    return next((word for word, known in _PROSE.items() if known == code), code)


@cache
def explanations() -> tuple[Explanation, ...]:
    """Return all explanations: notices, hints, verdicts, outcomes, exit codes, lint rules."""
    from enginescope.rules.catalogue import every_rule, paragraphs

    table = files("enginescope.services").joinpath("explanations.txt").read_text("utf-8")
    lines = [line for line in table.splitlines() if line and not line.startswith("#")]
    rules = (
        Explanation(
            code=rule.code,
            meaning=f"{rule.summary} ({rule.name}).",
            example=f"enginescope lint plan.json --select {rule.code}",
            action=paragraphs(rule).get("What to do", rule.advice).replace("``", "`"),
        )
        for rule in every_rule()
    )
    return (*map(_read, lines), *rules)


def _read(line: str) -> Explanation:
    code, meaning, example, action = line.split(" | ", maxsplit=_FIELDS - 1)
    return Explanation(code=code, meaning=meaning, example=example, action=action)


@cache
def _rule_codes() -> dict[str, str]:
    from enginescope.rules.catalogue import every_rule

    return {rule.name: rule.code.lower() for rule in every_rule()}
