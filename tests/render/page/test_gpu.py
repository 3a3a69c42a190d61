import csv
import io
import json

import numpy as np
import pytest

from enginescope.analysis.runs.run_view import RunView
from enginescope.judge.samples import Interval, frozen
from enginescope.records.run import telemetry as channel
from enginescope.records.run.telemetry import Channel, Telemetry
from enginescope.render.base.device_phrases import joules_interval, joules_text
from enginescope.render.charts.telemetry import PANELS, telemetry_charts, telemetry_picture
from enginescope.render.page.export import gpu_telemetry_csv, report_json, summary_json
from enginescope.render.page.markdown import report_markdown
from enginescope.render.page.page import report_page
from enginescope.render.page.report import write_report
from enginescope.store.archive import Store
from tests.render.gpu_runs import gpu_run
from tests.render.runs import measured_run
from tests.render.screen import summary_text


def view(run_id: str = "7f3ac01944de", **changes) -> RunView:
    return RunView(gpu_run(run_id, **changes))


def test_the_screen_has_energy_and_clock() -> None:
    for width in (60, 80):
        text = summary_text(view(), width=width)
        assert "0.238 J a request" in text
        assert "0.200 J above 75.0 W idle" in text
        assert "1,980 MHz before, 1,500 during, 1,500 after" in " ".join(text.split())
        assert "cycles (latency, median)" in text
        assert max(map(len, text.splitlines())) <= width
    assert joules_text(0.2381) == "0.238 J"
    assert joules_text(0.0123) == "12.3 mJ"
    assert joules_interval(Interval(low=0.0121, high=0.0125), 0.0123) == "95 % CI 12.1 … 12.5 mJ"


def test_every_run_with_a_gpu_says_its_thermal_state_and_how_energy_was_sampled() -> None:
    run = view()
    screen = " ".join(summary_text(run).split())
    page, markdown = report_page([run]).decode(), report_markdown([run]).decode()
    for text in (screen, page, markdown):
        assert "cold: 45 → 51 °C, +85 °C/min over 5.0 s" in text
        assert "50 counter steps of 100 ms, sensor sees about 25 % of the time" in text


def test_a_run_without_a_gpu_says_nothing_of_one() -> None:
    without = RunView(measured_run())
    text = summary_text(without)
    assert "energy" not in text
    assert "SM clock" not in text
    assert telemetry_charts([without]) == ()
    assert telemetry_picture([without]) is None
    assert b'id="gpu"' not in report_page([without])


def test_a_picture_for_each_quantity_on_one_axis_with_gaps() -> None:
    charts = telemetry_charts([view()])
    assert [one.key for one in charts] == [one.key for one in PANELS]
    for one in charts:
        assert one.table is not None
        assert one.spec["encoding"]["x"]["title"] == charts[0].spec["encoding"]["x"]["title"]
    assert charts[0].spec["data"]["values"][0]["x"] == pytest.approx((2_000 - 5_900) / 1e3)
    clock = next(one for one in telemetry_charts([view()]) if one.key == "gpu_sm_clock")
    points = clock.spec["data"]["values"]
    assert len([one["x"] for one in points if one["y"] is None]) == 4
    assert not any(one["y"] == 0 for one in points)
    assert "break-paths" in clock.spec["mark"]["invalid"]


def test_a_long_series_keeps_its_spike() -> None:
    power = np.full(50_000, 100.0)
    power[31_234] = 650.0
    series = Telemetry(
        time_ms=frozen(np.arange(50_000.0)),
        channels=(Channel(name=channel.POWER, values=frozen(power)),),
    )
    (chart,) = telemetry_charts([view(series=series)])
    points = [one["y"] for one in chart.spec["data"]["values"]]
    assert len(points) < 1_000
    assert max(points) == 650


def test_several_runs_have_a_line_each_in_one_picture() -> None:
    views = [view("aaaaaa000000"), view("bbbbbb000000")]
    html = report_page(views).decode()
    assert "GPU telemetry of all runs" in html
    assert 'id="chart-all_gpu_power"' in html
    assert 'id="run-1-chart-gpu_power"' in html
    chart = telemetry_charts(views)[0]
    names = chart.spec["encoding"]["color"]["scale"]["domain"]
    assert [one.rpartition(" ")[2] for one in names] == ["(aaaaaa)", "(bbbbbb)"]
    assert "strokeDash" in chart.spec["encoding"]  # color alone tells nothing


def test_the_page_and_markdown_state_how_the_energy_came_about() -> None:
    html = report_page([view()]).decode()
    assert "energy counter" in html
    assert "some of the energy is theirs" in html
    assert "averaged by the driver over 1 s" in html
    assert "<b>train</b>" not in html
    html = report_page([view(series=None, spans=(), requests=None)]).decode()
    assert "enginescope bench --telemetry" in html
    assert "SM clock around the timed loop" in html
    text = report_markdown([view()])
    text = text.decode() if isinstance(text, bytes) else text
    assert "Energy of a request" in text


def test_json_has_figures_and_csv_leaves_empty_what_was_not_reported() -> None:
    for data in (summary_json([view()]), report_json([view()])):
        (run,) = json.loads(data)["runs"]
        gpu = run["gpu"]
        assert gpu["energy"]["method"] == "counter"
        assert gpu["sm_clock"]["drop_pct"] == pytest.approx(24.24, abs=0.01)
        assert gpu["channels"]["sm_clock_mhz"]["missing"] == 4
        assert gpu["throttled_by"][0]["name"] == "sw_power_cap"
        assert gpu["other_processes"][0]["pid"] == 42
    (bare,) = json.loads(summary_json([RunView(measured_run())]))["runs"]
    assert bare["gpu"] is None
    rows = list(csv.DictReader(io.StringIO(gpu_telemetry_csv([view()]).decode())))
    assert len(rows) == 3 + 100
    assert {one["span"] for one in rows} == {"timed", "idle", "load", ""}
    silent = [one for one in rows if one["source"] == "pass" and one["sm_clock_mhz"] == ""]
    assert len(silent) == 4
    assert {one["memory_clock_mhz"] for one in rows} == {""}


def test_the_report_and_the_store_have_the_gpu(tmp_path) -> None:
    names = [one.name for one in write_report([view()], tmp_path, formats=("csv", "json")).files]
    assert "gpu_telemetry.csv" in names
    bare = write_report([RunView(measured_run())], tmp_path / "bare", formats=("csv",))
    assert "gpu_telemetry.csv" not in [one.name for one in bare.files]
    store = Store(tmp_path)
    store.save(gpu_run())
    loaded = RunView(store.load(gpu_run().id))
    assert loaded.energy == view().energy
    assert loaded.run.gpu.others[0].pid == 42
