"""JSON, Markdown, page and notebook of every answer: the answer leads, names are escaped."""

import json
import re
from html import unescape

import pytest

from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.notebook.html_fragments import answer_html
from enginescope.records.verdict.tune import InvalidAlternative
from enginescope.render.base.answer_tables import answer_markdown
from enginescope.render.contend.contend_answer import contend_answer
from enginescope.render.html.answer_page import Answer, written_json, written_page
from enginescope.render.ladder.ladder_answer import ladder_answer
from enginescope.render.load.load_answer import load_answer
from enginescope.render.reproduction.reproduction_answer import reproduction_answer
from enginescope.render.self_test.self_test_answer import self_test_answer
from enginescope.render.sensitivity.sensitivity_answer import sensitivity_answer
from enginescope.render.shapes.shapes_answer import shapes_answer
from enginescope.render.tune.tune_answer import tune_answer
from enginescope.render.verdicts.gate_answer import gate_answer
from enginescope.render.verdicts.lottery_answer import lottery_answer
from enginescope.render.verdicts.upgrade_answer import upgrade_answer
from tests.analysis.contend import contended
from tests.analysis.shapes import simulated
from tests.render.load import load_reports
from tests.render.reproduction import test_reproduction_text as reproductions
from tests.render.sensitivity import test_sensitivity_files as sensitivities
from tests.render.test_self_test_files import TEST
from tests.render.verdicts import test_gate_files as gates
from tests.render.verdicts import test_ladder_files as ladders
from tests.render.verdicts import test_lottery_files as lotteries
from tests.render.verdicts import test_tune_files as tunes
from tests.render.verdicts import test_upgrade_files as upgrades
from tests.render.verdicts.test_gate_files import NASTY


def contention(name: str) -> Answer:
    found = contended.report({("A", "B"): 2.0, ("B", "A"): 1.5})
    named = tuple(replace(one, model=name) for one in found.contenders)
    return contend_answer(replace(found, contenders=named))


def lottery(name: str) -> Answer:
    found = lotteries.with_tactics()
    layers = tuple(replace(layer, layer=name) for layer in found.layers)
    return lottery_answer(replace(found, model=name, layers=layers))


def sensitivity(name: str) -> Answer:
    layers = sensitivities.layer(name, 0.4), sensitivities.layer("b", 1e-4)
    return sensitivity_answer(sensitivities.report(layers, model=name))


def self_test(name: str) -> Answer:
    notice = Notice(code="W-LOAD", message=f"busy {name}")
    return self_test_answer(replace(TEST, model=name, notices=(notice,)))


def tuned(name: str) -> Answer:
    default, leader, *others = tunes.report().alternatives
    leader = replace(leader, backend=f"ort-cpu?{name}=1")
    invalid = (InvalidAlternative(backend=name, why=name),)
    alternatives = (default, leader, *others)
    return tune_answer(tunes.report(model=name, alternatives=alternatives, invalid=invalid))


def upgrade(name: str) -> Answer:
    return upgrade_answer(upgrades.report(upgrades.measured(name, 1.05), upgrades.untimed(name)))


ANSWERS = {
    "contend": contention,
    "gate": lambda name: gate_answer(gates.report(name)),
    "ladder": lambda name: ladder_answer(ladders.report("0.5ms", model=name)),
    "load": lambda name: load_answer(replace(load_reports.single(), target=name)),
    "lottery": lottery,
    "reproduction": lambda name: reproduction_answer(reproductions.result("latency", name=name)),
    "self-test": self_test,
    "sensitivity": sensitivity,
    "shapes": lambda name: shapes_answer(replace(simulated.report(), model=name, dimension=name)),
    "tune": tuned,
    "upgrade": upgrade,
}


@pytest.mark.parametrize("verb", ANSWERS)
def test_the_answer_leads_in_every_form(verb) -> None:
    answered = ANSWERS[verb]("net.onnx")
    answer = answered.answer
    assert json.loads(written_json(answered))["answer"] == answer
    text = answer_markdown(answered).decode().replace("\\", "")
    assert text.startswith(f"### enginescope: {answer}\n")
    (heading,) = re.findall("<h1[^>]*>(.*?)</h1>", written_page(answered).decode())
    is_symbol = verb == "load"  # p99 is not P99
    assert unescape(heading) == (answer if is_symbol else answer[:1].upper() + answer[1:])
    html = unescape(answer_html(answered))
    for table in answered.tables:
        assert html.index(answer) < html.index(table.title)


@pytest.mark.parametrize("verb", ANSWERS)
def test_names_are_escaped_in_every_form(verb) -> None:
    answered = ANSWERS[verb](NASTY)
    page = written_page(answered).decode().split('id="report-data"')[0]
    texts = [answer_markdown(answered).decode(), answer_html(answered), page]
    assert not any("<script>alert" in text for text in texts)
    assert not any("\x1b" in text for text in texts)
