import gzip
import json
import re
from pathlib import Path

import pytest
from benchmarks.explore import synthetic_plans

import enginescope as es
from enginescope.analysis.claims.layer_claims import layer_times
from enginescope.analysis.roofline.roofline import gpu_limits
from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import replace
from enginescope.formats.build_log.build_log import build_story_of
from enginescope.formats.onnx.onnx_graph import read_onnx_graph
from enginescope.records.plan.build_trace import BuildTrace
from enginescope.render.page.page import report_page
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.services.plans.resolve_plan import resolve_plan
from tests.conftest import DATA
from tests.render.page.test_page import Page
from tests.render.runs import EVIL, failed_run, imported_run, measured_run

NAME = "small_convnet.onnx.engine"
FOLDER = DATA / "trt86-h200-process"


def plan_run(**changes):
    """A run as a plan and its profile give one: no samples."""
    return imported_run(**{"samples": (), "tool": None, **changes})


def page_of(run, **beside) -> Page:
    return Page(report_page([PageSubject(RunView(run), **beside)]).decode())


def table(page: Page, key: str) -> dict[str, list]:
    return {
        one["title"]: one["values"] if "values" in one else [one["words"][at] for at in one["at"]]
        for one in page.data["tables"][f"table-{key}"]["columns"]
    }


@pytest.fixture(scope="module")
def recorded():
    return resolve_plan(str(FOLDER / f"{NAME}.graph.json")).as_run()


@pytest.fixture(scope="module")
def story():
    log = FOLDER / f"{NAME}.build.log.gz"
    return build_story_of(gzip.decompress(log.read_bytes()), log.name)[0]


def test_the_first_screen_is_about_layers_not_about_latency() -> None:
    page = page_of(plan_run())
    assert page.headings[0].startswith("resnet18 · plan")
    for expected in ("NVIDIA H200", "0.7000 ms", "layer times, sum", " % of the layers' time"):
        assert expected in page.words, expected
    for left_out in ("this run has no samples", "Distribution and series", "Percentiles"):
        assert left_out not in page.words, left_out
    assert set(page.data["icicles"]) == {""}
    assert len(page.data["charts"]) <= 12


def test_findings_are_on_the_first_screen_and_lead_to_their_layers(recorded) -> None:
    page = page_of(recorded)
    worst = PageSubject(RunView(recorded)).findings.findings[0]
    assert f"{worst.code} " in page.words.split("Where to look")[-1]
    assert "#findings" in page.links
    names = table(page, "layers")["Layer"]
    column = next(
        one for one in page.data["tables"]["table-findings"]["columns"] if one["title"] == "Layer"
    )
    assert column["leads_to"] == "layers"
    report = PageSubject(RunView(recorded)).findings
    by_index = {layer.index: layer.name for layer in recorded.plan.layers}
    for one, row in zip(report.findings, column["rows_there"], strict=True):
        assert names[row] == by_index[one.layers[0]]


def test_plans_and_times_alone_have_a_page(recorded) -> None:
    page = page_of(plan_run(profile=None))
    assert "no layer times were given or found next to the plan" in page.words
    assert "No layer times: savings are not known" in page.words
    assert len(table(page, "layers")["Layer"]) == 4
    assert not {"Time ms", "Time µs"} & set(table(page, "layers"))
    page = page_of(plan_run(plan=None))
    assert page.headings[0].startswith("resnet18 · layer times")
    assert "Findings" not in page.headings
    assert "Roofline" not in page.headings
    bare = replace(recorded.plan, source_schema="names-only")
    page = page_of(replace(recorded, plan=bare, profile=None))
    assert "Roofline" not in page.headings
    assert len(table(page, "layers")["Layer"]) == len(recorded.plan.layers)


def test_layers_have_what_the_plan_knows_of_them(recorded) -> None:
    subject = PageSubject(RunView(recorded), gpu=gpu_limits("H200"))
    columns = table(Page(report_page([subject]).decode()), "layers")
    assert subject.plan is not None
    for row, index in enumerate(columns["#"]):
        at = next(i for i, one in enumerate(subject.plan.all_layers) if one.index == index)
        assert columns["Layer"][row] == subject.plan.all_layers[at].name
        assert columns["Footprint, bytes"][row] == subject.plan.sizes[at].footprint_bytes
        macs = subject.plan.works[at].macs
        assert columns["MACs, millions"][row] == (None if macs is None else macs / 1e6)
        codes = {one.code for one in subject.findings_of_layer.get(index, ())}
        assert set((columns["Findings"][row] or "").split()) == codes
    assert columns["Time µs"] == sorted(columns["Time µs"], key=lambda us: -(us or 0.0))


def test_the_roofline_wants_a_gpu_and_times(recorded) -> None:
    unknown = replace(recorded, environment=type(recorded.environment)())
    assert "The plan does not name its GPU" in page_of(unknown).words
    page = page_of(unknown, gpu=gpu_limits("H200"))
    assert "at the limits of H200" in page.words
    assert "H200, as given" in page.words
    assert "L4, as given" not in page_of(recorded, gpu=gpu_limits("L4")).words
    assert "chart-roofline" in page.data["charts"]
    view = PageSubject(RunView(unknown), gpu=gpu_limits("H200")).plan
    lost = [us for us in table(page, "layers")["Above floor µs"] if us]
    worst = view.roofline.worst(len(view.roofline.layers))
    assert sorted(lost, reverse=True) == pytest.approx([1e3 * one.excess_ms for one in worst])
    page = page_of(replace(recorded, profile=None), gpu=gpu_limits("H200"))
    assert "the loss against the GPU's limits is unknown" in page.words
    assert "Floor µs" in table(page, "layers")


def test_nodes_of_the_model_and_what_could_not_be_matched(recorded, convnet, transformer) -> None:
    assert "unknown without --onnx" in page_of(recorded).words
    page = page_of(recorded, onnx=read_onnx_graph(convnet))
    columns = table(page, "onnx")
    assert set(columns["Of"]) <= {"a part", "a layer"}
    known = [ms for ms in columns["Time ms"] if ms is not None]
    assert known == sorted(known, reverse=True)
    assert sum(known) <= layer_times(recorded.profile).sum_ms * (1 + 1e-9)
    page = page_of(recorded, onnx=read_onnx_graph(transformer))
    assert "it may be another engine's" in page.words


def test_the_build_from_its_log(recorded, story) -> None:
    assert "No build log" in page_of(recorded).words
    page = page_of(recorded, story=story)
    for caption in ("Layers after each step", "Memory by stage"):
        assert caption in page.words
    gaps = [gap for gap in table(page, "build-choices")["Gap µs"] if gap is not None]
    assert gaps == sorted(gaps, reverse=True)
    assert min(gaps) >= 0
    assert {"table-build-tuning", "table-build-fusions"} <= set(page.data["tables"])
    page = page_of(recorded, story=BuildTrace(source="x.log"))
    assert "x.log has nothing about a build" in page.words


def test_tables_have_reformats_and_names_as_text_and_findings_are_saved() -> None:
    page = page_of(plan_run())
    assert "1 layer only rewrites a tensor: 0.150 ms, 21 % of the sum" in page.words
    assert table(page, "reformats")["Layer"] == ["Reformat | copy"]
    page = page_of(plan_run(), gpu=gpu_limits("H200"))
    assert EVIL in table(page, "layers")["Layer"]
    assert not any(script.strip() == "alert(1)" for script in page.scripts)
    found = json.loads(page_of(plan_run()).data["files"]["findings.json"])
    assert found["plans"][0]["plan"] == "resnet18"


def test_measured_runs_without_a_plan_have_none_of_its_sections() -> None:
    for run in (measured_run(), failed_run()):
        page = page_of(run)
        for title in ("Findings", "Roofline", "ONNX nodes", "Build", "Reformats", "Tactics"):
            assert title not in page.headings


def test_anchors_of_two_plans_on_one_page_do_not_collide() -> None:
    subjects = [PageSubject(RunView(plan_run(id=one))) for one in ("a" * 12, "b" * 12)]
    page = Page(report_page(subjects).decode())
    anchors = [one for one in page.ids if one.startswith("run-")]
    assert len(anchors) == len(set(anchors)) > 40
    assert {"run-1-table-layers", "run-2-table-layers"} <= set(page.data["tables"])


SHARED = re.compile(rb"<(script|style)>.*?</\1>", re.DOTALL)


def written(folder: Path, layers: int) -> tuple[int, int]:
    """Return the bytes of the page of a plan with times, and those of its files."""
    folder.mkdir()
    plan = synthetic_plans.chain(layers)
    for name, content in {"graph": plan, "profile": synthetic_plans.profile_of(plan)}.items():
        (folder / f"net.{name}.json").write_text(json.dumps(content))
    page = folder / "net.html"
    data = sum(one.stat().st_size for one in folder.iterdir())
    es.explore(folder / "net.graph.json", html=page)
    return len(SHARED.sub(b"", page.read_bytes())), data


def test_a_page_is_a_fraction_of_its_data(tmp_path) -> None:
    few, _ = written(tmp_path / "few", 1_030)
    many, data = written(tmp_path / "many", 3_090)
    assert many < 0.4 * data
    assert many - few < 250 * 2_060
