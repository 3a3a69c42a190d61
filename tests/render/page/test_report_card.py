"""The report card's sections on the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import replace
from enginescope.formats.importing.import_assembly import EngineFacts, run_of_engine
from enginescope.records.plan.plan import Layer, Plan
from enginescope.records.run.run import Run
from enginescope.records.tensor import DataType
from enginescope.render.page.page import report_page
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections.card.report_card import report_card
from enginescope.render.sections.section import Section
from tests.analysis.card_plans import TIMES, profile_of, small_plan
from tests.render.browser import chromium_tab
from tests.render.runs import EVIL, measured_run


def run_of(plan: Plan, *, timed: bool = True) -> Run:
    profile = profile_of(TIMES) if timed else None
    return run_of_engine(EngineFacts(name=plan.name, plan=plan, profile=profile))


def sections_of(run: Run) -> dict[str, Section]:
    found = report_card(PageSubject(RunView(run)))
    return {one.key: one for one in found if one is not None}


def charts_in(sections: dict[str, Section]) -> set[str]:
    return {chart.key for one in sections.values() for chart in one.charts}


def test_a_small_plan_has_its_sections() -> None:
    found = sections_of(run_of(small_plan()))
    assert list(found) == [
        "card-overview",
        "card-precision",
        "card-memory",
        "card-convolutions",
        "card-products",
    ]
    assert "live-activations" in charts_in(found)
    assert all(one.empty is None for one in found.values())


def test_each_type_has_a_sentence_and_its_layers() -> None:
    conv, reformat, product = sections_of(run_of(small_plan()))["card-overview"].facts["types"]
    assert conv.sentence == (
        "There are 2 Convolution layers, which account for 80.0 % (0.800 ms) of the layers' time"
    )
    assert product.sentence.startswith("There is 1 gemm layer, which accounts for 10.0 %")
    assert conv.table.headers[-3:] == ("Kernel", "Stride", "Groups")
    assert conv.table.rows[0] == (
        "conv",
        "0.5000",
        "50.0",
        "INT8",
        "INT8",
        "1.03 KiB",
        "3×3",
        "1×1",
        "1",
    )
    assert reformat.table.rows[0][-1] == "QDQ"


def test_without_times_there_are_words_and_counts() -> None:
    found = sections_of(run_of(small_plan(), timed=False))
    overview = found["card-overview"]
    assert overview.facts["no_times"].startswith("No profile: layers cannot be timed")
    assert overview.facts["types"][0].sentence == "There are 2 Convolution layers"
    assert "count-per-type" in charts_in(found)
    assert "latency-in-order" not in charts_in(found)
    assert found["card-convolutions"].facts["no_times"].startswith("No layer times")
    assert found["card-products"].empty is not None


def test_runs_without_a_plan_have_none() -> None:
    assert sections_of(measured_run()) == {}
    bare = Plan(name="n", layers=(Layer(index=0, name="a"),), source_schema="names-only")
    assert sections_of(run_of(bare, timed=False)) == {}


def test_unknown_precisions_have_words() -> None:
    plan = Plan(name="n", layers=(Layer(index=0, name="a", type="Pooling"),))
    found = sections_of(run_of(plan, timed=False))
    assert found["card-precision"].empty.startswith("The plan has no precisions")
    assert found["card-memory"].empty == "The plan has no sizes of tensors."


def test_what_myelin_hides_is_said() -> None:
    assert sections_of(run_of(small_plan()))["card-memory"].facts["hidden"] is None
    layers = tuple(replace(one, type="Myelin") for one in small_plan().layers)
    found = sections_of(run_of(replace(small_plan(), layers=layers)))
    assert found["card-memory"].facts["hidden"].startswith("5 layers stand for a part ")


def test_one_precision_is_said_once() -> None:
    layers = tuple(
        replace(one, inputs=one.inputs[:1], outputs=one.inputs[:1])
        for one in small_plan().layers
        if one.precision is DataType.INT8
    )
    found = sections_of(run_of(replace(small_plan(), layers=layers)))
    assert [one.key for one in found["card-precision"].charts] == ["precision-rollup"]
    mixed = sections_of(run_of(small_plan()))["card-precision"].charts
    assert [one.key for one in mixed] == [
        "precision-rollup",
        "precision-changes",
        "precision-per-layer",
        "output-precision-per-layer",
    ]


def test_the_slowest_are_coloured_by_what_tells_them_apart() -> None:
    def title(run: Run) -> str:
        charts = sections_of(run)["card-convolutions"].charts
        return next(one.title for one in charts if one.key == "latency-per-convolution")

    assert title(run_of(small_plan())) == (
        "Convolutions by time, colored by arithmetic intensity, MACs per byte"
    )


def test_the_page_holds_them_and_keeps_names_as_text() -> None:
    layers = tuple(replace(one, type=EVIL, name=EVIL) for one in small_plan().layers)
    page = report_page([RunView(run_of(replace(small_plan(), layers=layers)))]).decode()
    for key in ("card-overview", "card-precision", "card-memory"):
        assert f'id="{key}"' in page
    assert EVIL not in page
    anchors = re.findall(r'id="([^"]+)"', page)
    assert len(anchors) == len(set(anchors))


@pytest.mark.browser
def test_charts_are_drawn_at_any_width(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_bytes(report_page([RunView(run_of(small_plan()))]))
    with chromium_tab(tmp_path / "profile") as tab:
        tab.open(page)
        tab.draw_all()
        drawn = "document.querySelectorAll('.gallery .vis svg').length"
        assert tab.evaluate(drawn) == tab.evaluate(
            "document.querySelectorAll('.gallery .vis').length"
        )
        assert tab.evaluate(drawn) >= 20
        for width in (1280, 800, 420):
            tab.send(
                "Emulation.setDeviceMetricsOverride",
                width=width,
                height=800,
                deviceScaleFactor=1,
                mobile=False,
            )
            tab.until(f"innerWidth === {width}")
            tab.until(f"document.documentElement.scrollWidth <= {width}")
        assert tab.complaints() == []
        assert tab.requests() == [page.as_uri()]
