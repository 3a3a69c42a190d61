import ast
import re
from pathlib import Path

import pytest

import enginescope as es
from enginescope.judge.verdict import EvidenceLevel, Reason, VerdictKind
from enginescope.records.run.run import OutcomeKind
from enginescope.records.suite.suite import CellStatus
from enginescope.records.verdict.gate import GateOutcome
from enginescope.records.verdict.load import LoadKind
from enginescope.records.verdict.upgrade import Agreement, UpgradeKind, UpgradeReason
from enginescope.rules.catalogue import RULES
from enginescope.services.explain import GLOSSARY, explanations
from tests.language import banned_in, long_sentences

SOURCE = Path(es.__file__).parent
CODE = re.compile(r"[WIH]-[A-Z0-9]+(?:-[A-Z0-9]+)*")
#: What is written small, or is a flag.
NAMES = ("enginescope ", "onnxruntime ", "trtexec", "--")
KNOWN = {one.code: one for one in explanations()}


def emitted() -> set[str]:
    """Return the codes in the package's string literals, such as ``f"{level}-…"`` for two."""
    found = set()
    sources = (path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    for source in filter(re.compile(r"[\"'](\{level\}|[WIH])-[A-Z0-9]").search, sources):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.JoinedStr):
                text = ast.unparse(node)[2:-1]
                levels = "WI" if text.startswith("{level}-") else ""
                texts = [text.replace("{level}", level) for level in levels]
            else:
                texts = [getattr(node, "value", None)] if isinstance(node, ast.Constant) else []
            found |= {text for text in texts if isinstance(text, str) and CODE.fullmatch(text)}
    return found


def test_it_has_every_code_and_term_and_no_other() -> None:
    codes = emitted()
    assert len(codes) > 150
    assert {code for code in KNOWN if CODE.fullmatch(code)} == codes
    assert {rule.code for rule in RULES} <= KNOWN.keys()
    kinds = (Reason, VerdictKind, GateOutcome, CellStatus, OutcomeKind)
    for kind in (*kinds, LoadKind, UpgradeKind, UpgradeReason, EvidenceLevel, Agreement):
        assert {one.value for one in kind} <= KNOWN.keys()
    exits = {f"exit-{code}" for code in (0, 1, 2, 3, 4, 130, 141)}
    assert {code for code in KNOWN if code.startswith("exit-")} == exits
    root = SOURCE.parents[1]
    (url,) = re.findall(r"^site_url: (.+)$", (root / "mkdocs.yml").read_text(), re.MULTILINE)
    assert GLOSSARY.startswith(url)
    assert (root / "docs" / f"{GLOSSARY.removeprefix(url).rstrip('/')}.md").is_file()
    for reason, verdict in (("beyond-threshold", "faster"), ("within-threshold", "same")):
        assert KNOWN[reason].meaning != KNOWN[verdict].meaning
        assert KNOWN[reason].example != KNOWN[verdict].example
    assert not [one.code for one in KNOWN.values() if "× A (95 % CI" in one.example]


@pytest.mark.parametrize("code", KNOWN)
def test_an_explanation_is_plain(code) -> None:
    one = KNOWN[code]
    for text in (one.meaning, one.action):
        assert text[0].isupper() or text.startswith(NAMES)
        assert (long_sentences(text), banned_in(text)) == ([], [])
    assert one.example
    assert banned_in(one.example) == []


def test_a_code_in_any_spelling() -> None:
    asked = ("w-load", "tiny-kernels", "plan101", "interval-too-wide", "3", "timed out")
    codes = ["W-LOAD", "TIME202", "PLAN101", "interval-too-wide", "exit-3", "timed_out"]
    assert [es.explain(one).code for one in asked] == codes
    assert es.explain("not comparable").code == "incomparable"


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("W-LAOD", "did you mean W-LOAD?"),
        ("W-ZZZZZZZZZ", "enginescope explain lists the codes"),
        ("fastr", f"did you mean faster? For terms, see {GLOSSARY}"),
        ("roofline", f"enginescope explain lists the codes; for terms, see {GLOSSARY}"),
        *((term, None) for term in ("tactic", "own time", "MyelinReformat", "stake")),
    ],
)
def test_an_unknown_code_and_a_term_of_the_glossary(asked, hint) -> None:
    with pytest.raises(es.UsageError) as raised:
        es.explain(asked)
    assert raised.value.hint == (hint or raised.value.hint)
    assert asked.startswith("W-") or raised.value.hint.endswith(f"or terms, see {GLOSSARY}")
