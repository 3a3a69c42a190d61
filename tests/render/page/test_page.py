"""The page as a parser sees it: no script needed, nothing from outside, nothing injected."""

import base64
import hashlib
import json
import re
import zlib
from html.parser import HTMLParser
from importlib.resources import files

import pytest

from enginescope.analysis.runs.run_view import RunView
from enginescope.judge.notice import Notice
from enginescope.records.plan.plan import LayerTiming, Profile
from enginescope.records.run.job import BackendSpec, Job, Subject
from enginescope.render.base.data_table import STATIC_ROWS
from enginescope.render.html.page_frame import Script, licences, script_json, scripts, style
from enginescope.render.page import page as page_module
from enginescope.render.page.page import report_page
from tests.render.runs import EVIL, failed_run, imported_run, measured_run

VOID = {"meta", "link", "input", "br"}
LOADING = {"src", "srcset", "action", "formaction", "poster", "data", "background", "hx-get"}


class Page(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.ids, self.links, self.headings, self.text = [], [], [], []
        self.loads, self.handlers, self.scripts, self.open = [], [], [], []
        self.packed: dict[str | None, str] = {}
        self.policy, self.captions, self.tables = "", 0, 0
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs) -> None:
        found = dict(attrs)
        if "id" in found:
            self.ids.append(found["id"])
        if "href" in found:
            self.links.append(found["href"])
        self.loads += [(tag, value) for name, value in attrs if name in LOADING]
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        if found.get("http-equiv") == "Content-Security-Policy":
            self.policy = found["content"]
        self.tables += tag == "table"
        self.captions += tag == "caption"
        if tag == "script":
            self.scripts.append("")
        if tag == "template":
            self.packed[found.get("id")] = ""
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        if "script" in self.open:
            self.scripts[-1] += data
        elif self.open[-1:] == ["template"]:
            self.packed[next(reversed(self.packed))] += data
        elif "style" not in self.open:
            self.text.append(data)
            if self.open and self.open[-1] in ("h1", "h2", "h3"):
                self.headings.append(data)

    @property
    def data(self) -> dict:
        text = zlib.decompress(base64.b64decode(self.packed["report-data"])).decode()
        return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} in the data"))

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


def page_of(*runs) -> Page:
    return Page(report_page([RunView(run) for run in runs]).decode())


MAKERS = [(measured_run,), (failed_run,), (imported_run,), (measured_run, failed_run, imported_run)]


@pytest.fixture(params=MAKERS, ids=lambda makers: "+".join(make.__name__ for make in makers))
def page(request) -> Page:
    return page_of(*(make() for make in request.param))


def test_nothing_comes_from_outside_and_every_part_has_its_place(page) -> None:
    assert page.loads == []
    assert [link for link in page.links if not link.startswith("#")] == ["data:,"]
    assert "default-src 'none'" in page.policy
    assert "connect-src" not in page.policy
    assert "unsafe-eval" not in page.policy
    assert re.search(r"script-src( 'sha256-[^']+')+;", page.policy)
    assert len(page.ids) == len(set(page.ids))
    anchors = {link[1:] for link in page.links if link.startswith("#")}
    assert anchors <= set(page.ids)
    assert set(page.data["charts"]) == {one for one in page.ids if "chart-" in one}
    assert set(page.data["tables"]) == {one for one in page.ids if "table-" in one}
    assert page.captions == page.tables
    assert page.handlers == []


def test_figures_can_be_read_without_scripts_and_notices_are_one_line_that_opens() -> None:
    page = page_of(measured_run())
    assert page.headings[0].startswith("squeezenet.onnx · ort-cpu fp32")
    for expected in (
        *("AMD EPYC, 2 cores", "95 % CI 4.", "other load: 0.8 of 2 cores busy"),
        *("The layers add up to 4.508 ms", "enginescope bench squeezenet.onnx --on ort-cpu"),
        *("/encoder/block.0/Conv", "CPUExecutionProvider: 60 nodes in 1 subgraphs"),
        "the median was known to the requested precision",
        *("of 4,603 effective samples needed"),
    ):
        assert expected in page.words, expected
    notices = tuple(Notice(code=f"W-{i}", message=f"message {i}") for i in range(5))
    page = page_of(measured_run(notices=notices))
    assert "Look rough: message 0; and 4 more" in page.words
    assert "message 4" in page.words
    lacking = page_of(measured_run(profile=None, plan=None)).words
    assert "Where not known: the run has no layer times" in lacking


@pytest.mark.parametrize(
    "make",
    [
        imported_run,
        lambda: measured_run(notices=(Notice(code="W-X", message=EVIL),)),
        lambda: measured_run(command=EVIL),
        lambda: measured_run(id=EVIL),
        lambda: measured_run(job=Job(subject=Subject(name=EVIL), backend=BackendSpec(name=EVIL))),
        lambda: measured_run(
            profile=Profile(source=EVIL, layers=(LayerTiming(index=0, name=EVIL, mean_ms=1.0),))
        ),
    ],
)
def test_text_from_elsewhere_stays_text(make) -> None:
    run = make()
    page = page_of(run)
    assert EVIL in page.words or EVIL in json.dumps(page.data, ensure_ascii=False)
    assert len(page.scripts) == len(scripts()) + (1 if run.plan else 0)
    assert not any(script.strip() == "alert(1)" for script in page.scripts)


def test_script_json_reads_back_and_holds_no_markup() -> None:
    value = {"a": [EVIL, "<!--", "&amp;", None, 1.5]}
    text = str(script_json(value))
    assert json.loads(text) == value
    assert not set("<>&") & set(text)


def test_downloads_are_the_files_themselves_but_for_a_series_too_long_to_carry(monkeypatch) -> None:
    page = page_of(measured_run())
    assert set(page.data["files"]) == {
        *("report.json", "summary.json", "summary.csv", "latency_series.csv"),
        *("latency_percentiles.csv", "per_layer_times.csv"),
    }
    assert json.loads(page.data["files"]["summary.json"])["runs"][0]["run"] == "7f3ac01944de"
    monkeypatch.setattr(page_module, "MAX_SERIES_SAMPLES", 599)
    page = page_of(measured_run())
    assert "latency_series.csv" not in page.data["files"]
    assert "The run has more than 599 samples; latency_series.csv has them" in page.words


def test_thousands_of_layers_are_in_the_data_and_the_first_in_the_page() -> None:
    many = tuple(
        LayerTiming(index=i, name=f"layer_{i}", mean_ms=1.0 + i / 1e4) for i in range(5_000)
    )
    page = page_of(measured_run(profile=Profile(source="trtexec", layers=many)))
    assert page.data["tables"]["table-layers"]["length"] == 5_000
    assert f"the first {STATIC_ROWS} of 5,000" in page.words
    assert "layer_4999" in page.words
    assert "layer_17 " not in page.words


def test_empty_parts_have_words_and_imported_runs_what_their_tool_says() -> None:
    page = page_of(failed_run())
    assert "the worker died while loading the model" in page.words
    assert "Segmentation fault" in page.words
    assert "This run has no samples: nothing was timed." in page.words
    assert "No layer profile: layers cannot be timed." in page.words
    assert page.data["charts"] == {}
    page = page_of(imported_run(profile=None))
    assert "No layer profile: layers cannot be timed." in page.words
    assert "Reformat | copy" in page.words
    page = page_of(imported_run())
    assert "What trtexec 8.6.1 says" in page.headings
    for words in ("GPU compute time is unstable", "FP32+INT8", "trtexec printed, ms"):
        assert words in page.words
    assert "1,234 queries/s" in page.words or "1,235 queries/s" in page.words


def test_several_runs_begin_with_an_overview_that_leads_to_each() -> None:
    page = page_of(measured_run(), failed_run(), imported_run())
    assert page.headings[0] == "3 runs"
    for index in (1, 2, 3):
        assert f"#run-{index}-summary" in page.links
        assert f"run-{index}-method" in page.ids


VENDOR = files("enginescope.render") / "assets" / "vendor"


def test_libraries_are_those_that_were_published() -> None:
    versions = json.loads((VENDOR / "VERSIONS.json").read_text())
    assert {one["package"] for one in versions} == {"vega", "vega-lite", "vega-embed"}
    for one in versions:
        assert hashlib.sha256((VENDOR / one["file"]).read_bytes()).hexdigest() == one["sha256"]
        assert f"{one['package']} {one['version']}" in licences()


def test_scripts_neither_end_their_element_nor_load_anything() -> None:
    made = scripts()
    assert len(made) > len(json.loads((VENDOR / "VERSIONS.json").read_text()))
    for script in made:
        assert "</script" not in script.text.lower()
        for words in ("<!--", "sourceMappingURL", "\r"):
            assert words not in script.text
    assert "url(" not in style()
    assert "@import" not in style()
    # sha256 of "alert(1)", base64, as in the specification's own notation.
    assert Script(text="alert(1)").csp_source == (
        "'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='"
    )
