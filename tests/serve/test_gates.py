import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest

from enginescope.cli.main import main
from enginescope.core.errors import FormatError
from enginescope.core.record import replace
from enginescope.serve import gates as module
from enginescope.serve.access import Access
from enginescope.serve.configuration import Configuration, GatePart, read_configuration
from enginescope.serve.gates import badge_svg
from enginescope.store.archive import Store
from enginescope.store.suite_folder import SuiteFolder
from tests.analysis.in_turn import process
from tests.serve.conftest import TOKEN, client_of
from tests.suites.made import cell, result, row

AFTER = GatePart(name="after", baseline=("main",), current=("new",))
SLOW = GatePart(name="slow", baseline=("main",), current=("slow",))
OPEN = GatePart(name="open", baseline=("one",), current=("other",))
NOTHING = GatePart(name="nothing", baseline=("no-such-tag",))
GATES = Configuration(gate=(AFTER, SLOW, OPEN, NOTHING))


@pytest.fixture
def team(tmp_path) -> Store:
    """A store in which runs were tagged by what they are to show."""
    made = Store(tmp_path / "team")
    levels = {
        "main": (1.0, 5),
        "new": (0.9, 5),
        "slow": (1.3, 5),
        "one": (1.0, 1),
        "other": (1.01, 1),
    }
    for number, (tag, (level, count)) in enumerate(levels.items()):
        for at in range(count):
            made.save(process(level * (1 + at / 2_000), seed=10 * number + at), tags=[tag])
    return made


def test_it_is_the_verdict_of_the_command_line(team, capsys) -> None:
    with client_of(team, None, None, GATES) as client:
        for gate, passed in ((AFTER, True), (SLOW, False), (OPEN, False)):
            answer = client.get(f"/gate/{gate.name}.json")
            assert answer.status_code == 200
            baselines = [f"--baseline={one}" for one in gate.baseline]
            words = ["gate", *gate.current, *baselines, "--inconclusive=fail", "--json"]
            main([*words, "--store", str(team.path)])
            assert answer.json() == json.loads(capsys.readouterr().out)
            assert answer.json()["passed"] is passed


def test_every_level_is_said_on_each_page_and_leads_to_the_newest_runs(team) -> None:
    levels = {"after": "passing", "slow": "failing", "open": "inconclusive", "nothing": "unknown"}
    answers = {
        "passing": "<h1>Gate passed: no regression; latency of ",
        "failing": '<h1 class="bad">Gate failed: 1 regression</h1>',
        "inconclusive": "<h1>Gate inconclusive: no regression found",
        "unknown": "<h1>Gate nothing has no verdict</h1>",
    }
    with client_of(team, None, None, GATES) as client:
        listed = client.get("/gate").text
        for name, level in levels.items():
            page = client.get(f"/gate/{name}")
            assert page.status_code == 200
            assert answers[level] in page.text
            assert f'href="/gate/{name}"' in listed
            assert f">{level}</span>" in listed
            badge = client.get(f"/gate/{name}.svg")
            assert badge.headers["content-type"].startswith("image/svg+xml")
            assert ElementTree.fromstring(badge.text).get("aria-label") == f"{name}: {level}"
        assert "+30" in client.get("/gate/slow").text
        nothing = client.get("/gate/nothing.json")
        assert nothing.status_code == 409
        assert "no-such-tag" in nothing.json()["error"]
        for path in ("/gate/none", "/gate/none.svg", "/gate/none.json", "/gate/.svg"):
            assert client.get(path).status_code == 404
        text = client.get("/gate/slow").text
        address = re.search(r'<a href="(/compare[^"]*)">✗ regression</a>', text)[1]
        assert "slower: 1.3" in unescape(client.get(unescape(address)).text)
        assert 'href="/gate/slow.svg"' in text
        assert 'href="/gate/slow.json"' in text
        # the page of a gate without a verdict has warnings, and no report
        (team.runs_folder / "0badbad0").mkdir()
        (team.runs_folder / "0badbad0" / "run.json").write_text("{")
        answer = client.get("/gate/nothing")
        assert (answer.status_code, "0badbad0" in answer.text) == (200, True)
        assert "has no verdict" in answer.text


def test_it_is_computed_again_when_the_store_has_changed_and_not_before(team, monkeypatch) -> None:
    computed = []
    gate_runs = module.gate_runs

    def counted(request, observer):
        computed.append(request)
        return gate_runs(request, observer)

    monkeypatch.setattr(module, "gate_runs", counted)
    newer = GatePart(name="newer", baseline=("main",), current=("next",))
    with client_of(team, None, None, Configuration(gate=(newer,))) as client:
        assert {client.get("/gate/newer.json").status_code for _ in range(5)} == {409}
        first = len(computed)
        assert client.get("/gate/newer.json").status_code == 409
        assert len(computed) - first <= 1  # right after a change, what is known may be too old
        for at in range(5):
            team.save(process(1.3 * (1 + at / 2_000), seed=at), tags=["next"])
        assert client.get("/gate/newer.json").json()["passed"] is False


def test_a_gate_between_suites(team) -> None:
    """It is computed again when a suite gets another row."""
    for name, tag in (("was", "main"), ("is", "new")):
        ids = tuple(one.id for one in team.rows(tag=tag))
        made = result([row(cell("net"), runs=ids)])
        folder = SuiteFolder(team.suite_home() / "suites" / name)
        folder.begin(made.plan)
        folder.keep(made.rows[0])
    part = GatePart(name="suites", baseline=("was",), current=("is",))
    with client_of(team, None, None, Configuration(gate=(part,))) as client:
        assert client.get("/gate/suites.json").json()["passed"] is True
        ids = tuple(one.id for one in team.rows(tag="slow"))
        folder.keep(row(cell("net"), runs=ids))
        assert client.get("/gate/suites.json").json()["passed"] is False


@contextmanager
def locked(team: Store, **more: object) -> Iterator:
    part = replace(AFTER, **more)
    with client_of(team, Access(token=TOKEN), None, Configuration(gate=(part,))) as client:
        yield client


def test_a_badge_is_as_open_as_its_gate_says(team) -> None:
    with locked(team) as client:
        assert client.get("/gate/after.svg").status_code == 401
        headers = client.get(
            "/gate/after.svg", headers={"Authorization": f"Bearer {TOKEN}"}
        ).headers
        assert headers["cache-control"] == "private, no-cache"
        assert headers["cross-origin-resource-policy"] == "same-origin"
    with locked(team, public_badge=True) as client:
        answer = client.get("/gate/after.svg")
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "public, max-age=60, must-revalidate"
        assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
        again = client.get("/gate/after.svg", headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        for path in ("/gate", "/gate/after", "/gate/after.svg/x", "/gate/after.svgx"):
            assert client.get(path).headers["location"] == "/login", path
        assert client.get("/gate/after.json").status_code == 401


def test_a_badge_is_well_formed_and_legible() -> None:
    assert int(ElementTree.fromstring(badge_svg('<b>&"' + "x" * 100, "failing")).get("width")) < 400
    assert badge_svg("a", "failing") != badge_svg("a", "passing")

    def luminance(color: str) -> float:
        parts = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
        linear = [
            one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for color in (*module._COLORS.values(), "#3b424a"):
        assert 1.05 / (luminance(color) + 0.05) >= 4.5, color


CONFIGURATION = """
[[gate]]
name = "nightly"
baseline = ["main"]
current = ["nightly"]
max_regression = { latency = 2, p99 = 5.5 }
public_badge = true

[[webhook]]
name = "chat"
url = "https://chat.example/secret-path"
secret_file = "secret"
"""


@pytest.fixture
def file(tmp_path) -> Path:
    (tmp_path / "secret").write_text("0123456789abcdef0123")
    made = tmp_path / "server.toml"
    made.write_text(CONFIGURATION)
    return made


def test_the_file_and_a_folder_that_is_called_like_a_tag(file, monkeypatch) -> None:
    read = read_configuration(file)
    (gate,), (hook,) = read.gate, read.webhook
    assert {one.metric: one.regression_pct for one in gate.terms.limits} == {
        "latency": 2,
        "p99": 5.5,
    }
    assert hook.secret_file == str(file.parent / "secret")
    assert hook.metrics == ("latency",)
    (file.parent / "main").mkdir()  # it is not read in the place of the tag
    read_configuration(file)
    monkeypatch.chdir(file.parent)
    with pytest.raises(FormatError, match="in the working directory too"):
        read_configuration(file)
    file.write_text(CONFIGURATION.replace('["main"]', '["./main"]'))
    assert read_configuration(file).gate[0].baseline == ("./main",)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("[[gate]]", "[gate", "not valid TOML"),
        ("public_badge", "publik_badge", "publik_badge"),
        ('baseline = ["main"]', "baseline = []", "names nothing"),
        ('baseline = ["main"]', "", "baseline"),
        ("p99", "p999", "p999"),
        ("5.5", "-1", "0"),
        ('name = "nightly"', 'name = "a/b"', "a name is up to"),
        (
            "[[webhook]]",
            '[[gate]]\nname = "nightly"\nbaseline = ["x"]\n[[webhook]]',
            "there are two",
        ),
        ("https://chat", "ftp://chat", "its url"),
        ('secret_file = "secret"', 'secret_file = "none"', "No such file"),
        ('secret_file = "secret"', 'secret_file = "short"', "5 bytes"),
        ("public_badge = true", 'across = ["gpuu"]', "gpuu"),
        ("public_badge = true", 'inconclusive = "measure"', "measure"),
    ],
)
def test_mistakes_in_the_file(file, capsys, old, new, why) -> None:
    (file.parent / "short").write_text("short")
    file.write_text(CONFIGURATION.replace(old, new))
    with pytest.raises(FormatError) as caught:
        read_configuration(file)
    assert why in str(caught.value)
    assert "secret-path" not in str(caught.value)
    assert main(["serve", "--store", str(file.parent), "--port", "0", "--config", str(file)]) == 2
    assert "secret-path" not in capsys.readouterr().err
