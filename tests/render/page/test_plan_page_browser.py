import json
from pathlib import Path

import pytest

from enginescope.analysis.runs.run_view import RunView
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.records.plan.plan import LayerTiming, Profile
from enginescope.records.run.run import Run
from enginescope.render.html.page_frame import scripts
from enginescope.render.page.page import report_page
from enginescope.render.plans.plan_headline import PageSubject
from tests.conftest import DATA, SHARED
from tests.render.every_page import PLAN, plan_page
from tests.render.runs import imported_run

pytestmark = pytest.mark.browser

MANY = 50_000
SCRIPT = "<script>alert(1)</script>"
ROW = "document.querySelectorAll('#table-layers tbody tr:not(.spacer)')"
NAMES = f"[...{ROW}].map((row) => row.cells[0].title)"
OUTPUT = "document.querySelector('#table-layers output').textContent"


#: Every plan that the repository ships, and real ones that it does not ship.
SAMPLES = sorted(DATA.rglob("*.graph.json"))
OTHERS = sorted(
    one for one in SHARED.rglob("*.json") if one.name.endswith((".graph.json", ".engine_info.json"))
)


RESNET = DATA / "trt86-h200" / "resnet18.graph.json"


def open_page(tab, folder: Path, page: bytes | Path, fragment: str = "") -> Path:
    path = folder / "plan.html"
    path.write_bytes(plan_page(page) if isinstance(page, Path) else page)
    tab.open(path, fragment)
    return path


def page_of(run: Run) -> bytes:
    return report_page([PageSubject(RunView(run))])


def many_layers() -> bytes:
    layers = [
        {
            "Name": SCRIPT if i == 7 else f"/layers.{i}/{'Conv' if i % 3 else 'Reformat'}",
            "LayerType": "CaskConvolution" if i % 3 else "Reformat",
            "ParameterType": "Convolution" if i % 3 else "Reformat",
            "Inputs": [{"Name": f"t{i}", "Dimensions": [1, 8], "Format/Datatype": "Half"}],
            "Outputs": [{"Name": f"t{i + 1}", "Dimensions": [1, 8], "Format/Datatype": "Half"}],
        }
        for i in range(MANY)
    ]
    text = json.dumps({"Layers": layers, "Bindings": []}).encode()
    plan, _ = parse_plan(text, "many.graph.json")
    times = tuple(
        LayerTiming(index=i, name=layer["Name"], mean_ms=1e-3 * (1 + (i * 7919) % MANY))
        for i, layer in enumerate(layers)
    )
    profile = Profile(source="trtexec", iterations=10, layers=times)
    return page_of(imported_run(plan=plan, profile=profile, samples=(), tool=None))


def assert_whole(tab, path: Path) -> None:
    """Every chart is drawn and every table is live; nothing is asked for, nobody complains."""
    tab.draw_all()
    for places, live in ((".vis", ".vis svg"), (".table", ".table .rows.live")):
        count = "document.querySelectorAll('{}').length"
        assert tab.evaluate(count.format(live)) == tab.evaluate(count.format(places))
    assert tab.evaluate(f"{ROW}.length") > 0
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert tab.requests() == [path.as_uri()]
    assert tab.complaints() == []


@pytest.mark.parametrize("file", OTHERS, ids=lambda one: one.name)
def test_every_plan_has_a_page_that_complains_of_nothing(tab, tmp_path, file) -> None:
    assert_whole(tab, open_page(tab, tmp_path, file))


def test_fifty_thousand_layers_are_few_rectangles_sort_filter_and_scroll_to_the_last(
    tab, tmp_path
) -> None:
    open_page(tab, tmp_path, many_layers())
    drawn = tab.evaluate(
        "(() => { let count = 0; const real = CanvasRenderingContext2D.prototype.fillRect;"
        " CanvasRenderingContext2D.prototype.fillRect = function (...how) {"
        "   count += 1; real.apply(this, how); };"
        " document.dispatchEvent(new Event('theme'));"
        " CanvasRenderingContext2D.prototype.fillRect = real; return count; })()"
    )
    wide = tab.evaluate("document.querySelector('.icicle canvas').clientWidth")
    assert MANY / 100 < drawn < 10 * wide
    tab.evaluate("pageReveal(document.getElementById('layers'))")
    assert tab.evaluate(OUTPUT) == "50,000 layers"
    assert tab.evaluate(f"{ROW}.length") < 100
    scroll = "document.querySelector('#table-layers .rows')"
    tab.evaluate(f"{scroll}.scrollTop = {scroll}.scrollHeight")
    tab.until(f"{ROW}[{ROW}.length - 1].ariaRowIndex === '{MANY + 1}'")
    assert tab.evaluate(f"{ROW}.length") < 100
    tab.evaluate("document.querySelectorAll('#table-layers thead button')[0].click()")
    assert tab.evaluate("document.querySelector('#table-layers thead th').ariaSort") == "ascending"
    assert tab.evaluate(f"{NAMES}.slice(0, 3)") == [
        "/layers.0/Reformat",
        "/layers.1/Conv",
        "/layers.2/Conv",
    ]
    tab.evaluate(
        "const box = document.querySelector('#table-layers input'); box.value = 'RS.4999/';"
        "box.dispatchEvent(new Event('input'));"
    )
    assert tab.evaluate(OUTPUT) == "1 of 50,000 layers"
    assert tab.evaluate(NAMES) == ["/layers.4999/Conv"]
    tab.evaluate("box.value = 'alert'; box.dispatchEvent(new Event('input'));")
    assert tab.evaluate(f"{ROW}[0].cells[0].textContent") == SCRIPT
    tab.evaluate(
        "box.value = ''; box.dispatchEvent(new Event('input'));"
        "const type = document.querySelector('#table-layers select');"
        "type.value = [...type.options].find((one) => one.text.startsWith('Reformat')).value;"
        "type.dispatchEvent(new Event('change'));"
    )
    assert tab.evaluate(OUTPUT) == f"{(MANY + 2) // 3:,} of 50,000 layers"
    assert tab.complaints() == []


def test_a_layer_named_like_a_script_is_text(tab, tmp_path) -> None:
    open_page(tab, tmp_path, page_of(imported_run(samples=(), tool=None)))
    shipped = tab.evaluate("document.scripts.length")
    assert shipped == len(scripts("graph"))
    assert "</script><script>alert(1)</script>" in tab.evaluate(NAMES)
    assert tab.evaluate("[...document.scripts].some((one) => one.text === 'alert(1)')") is False
    assert tab.evaluate("document.scripts.length") == shipped
    assert tab.complaints() == []


def test_a_link_of_a_finding_leads_to_its_layer_whose_copy_has_the_whole_name(
    tab, tmp_path
) -> None:
    open_page(tab, tmp_path, RESNET)
    rows = "[...document.querySelectorAll('#table-findings tbody tr')]"
    heads = "[...document.querySelectorAll('#table-findings thead th')]"
    at = f"{heads}.findIndex((head) => head.textContent.trim().startsWith('Layers'))"
    link = f"{rows}.find((row) => row.cells[{at}]?.textContent === '1').querySelector('a')"
    wanted = tab.evaluate(f"{link}.closest('td').title")
    tab.evaluate(f"{link}.click()")
    marked = "document.querySelector('#table-layers tr.marked')"
    assert tab.evaluate(f"{marked}.cells[0].title") == wanted
    tab.until(
        f"(() => {{ const at = {marked}.getBoundingClientRect();"
        " return at.top >= 0 && at.bottom <= innerHeight; })()"
    )
    tab.evaluate("pageReveal(document.getElementById('layers'))")
    copied = tab.evaluate(
        f"(() => {{ const row = [...{ROW}].find((one) => one.cells[0].textContent.includes('…'));"
        " const range = document.createRange(); range.selectNodeContents(row.cells[0]);"
        " getSelection().removeAllRanges(); getSelection().addRange(range);"
        " const data = new DataTransfer();"
        " row.dispatchEvent(new ClipboardEvent("
        "   'copy', { bubbles: true, cancelable: true, clipboardData: data }));"
        " return [data.getData('text/plain'), row.cells[0].title]; })()"
    )
    assert copied[0] == copied[1]
    assert "…" not in copied[0]


def test_the_first_screen_holds_numbers_picture_and_list(tab, tmp_path) -> None:
    open_page(tab, tmp_path, PLAN)
    for what in (".headline", ".icicle canvas", ".where tbody tr:nth-child(4)"):
        assert (
            tab.evaluate(f"document.querySelector('{what}').getBoundingClientRect().bottom") <= 800
        )


@pytest.mark.parametrize("file", SAMPLES, ids=lambda one: one.name)
def test_every_tab_opens_and_every_link_lands_in_its_own(tab, tmp_path, file) -> None:
    assert_whole(tab, open_page(tab, tmp_path, file))
    anchors = tab.evaluate("[...document.querySelectorAll('.tab section')].map((one) => one.id)")
    assert len(anchors) >= 8
    for width in (1920, 420):
        tab.resize(width)
        for anchor in anchors:
            tab.evaluate(f"location.hash = '#{anchor}'")
            tab.until(f"document.querySelector('.tab.open #{anchor}') !== null")
            tab.until("document.documentElement.dataset.charts === 'drawn'")
            tab.until(
                f"(() => {{ const at = document.querySelector('#{anchor}').getBoundingClientRect();"
                " return at.top >= 0 && at.top < innerHeight && at.height > 0; })()"
            )
        for at in range(tab.evaluate("document.querySelectorAll('.tabs a').length")):
            tab.evaluate(f"document.querySelectorAll('.tabs a')[{at}].click()")
            assert tab.evaluate("document.querySelectorAll('.tab.open').length") == 1
            tabs = f"document.querySelectorAll('.tab')[{at}].classList.contains('open')"
            assert tab.evaluate(tabs)
    assert tab.complaints() == []


def test_a_permalink_opens_the_tab_that_it_names_and_charts_are_saved(tab, tmp_path) -> None:
    open_page(tab, tmp_path, SAMPLES[0])
    assert tab.evaluate("document.querySelector('.tab.open #layers') === null")
    open_page(tab, tmp_path, SAMPLES[0], "#layers")
    assert tab.evaluate("document.querySelector('.tab.open #layers') !== null")
    assert (
        0 <= tab.evaluate("document.querySelector('#layers h2').getBoundingClientRect().top") <= 130
    )
    tab.evaluate(
        "window.saved = [];"
        " URL.createObjectURL = (data) => { saved.push(data.type); return 'data:,'; };"
        " HTMLAnchorElement.prototype.click = function () { saved.push(this.download); };"
        " pageReveal(document.getElementById('memory'));"
    )
    tab.until("document.querySelector('#chart-live-activations svg') !== null")
    tab.until("document.querySelector('#memory .chart-tools') !== null")
    tab.evaluate(
        " for (const one of document.querySelector('#memory .chart-tools').children) one.click()"
    )
    tab.until("saved.length === 6")
    assert set(tab.evaluate("saved")) == {
        *("image/svg+xml", "image/png", "text/csv"),
        *(f"live-activations.{ending}" for ending in ("svg", "png", "csv")),
    }
    assert tab.complaints() == []
