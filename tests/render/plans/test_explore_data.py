from __future__ import annotations

import csv
import io
import json

from enginescope.analysis.plans.exploration import ordered
from enginescope.records.notice import Notice
from enginescope.render.plans.explore_data import COLUMNS, explore_csv, explore_json
from tests.render.plans.test_explore_text import NAME, timed


def test_csv_has_every_layer_in_the_order_given() -> None:
    found = timed()
    rows = list(
        csv.DictReader(io.StringIO(explore_csv(ordered(found.layers, "time")).decode(), newline=""))
    )
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == len(found.layers)
    assert rows[0]["name"] == "head_myl0_2"
    assert (rows[0]["mean_ms"], rows[0]["precision"]) == ("0.3", "FP16")
    assert rows[0]["onnx_nodes"] == "head/MatMul;head/Add"
    assert rows[0]["weights_bytes"] == str(2 * (256 * 10 + 10))
    conv = next(row for row in rows if row["name"] == NAME)
    assert conv["inputs"] == "packed 1×3×8×8 FP16 NHWC8"
    stray = next(row for row in rows if row["in_plan"] == "false")
    assert (stray["weights_bytes"], stray["inputs"], stray["tactic_family"]) == ("", "", "")


def test_json_holds_everything() -> None:
    found = timed()
    notice = Notice(code="W-X", message="something")
    made = json.loads(explore_json(found, found.layers, device="GPU", notices=(notice,)))
    assert (made["schema"], made["name"], made["device"]) == (1, "net", "GPU")
    assert made["time"]["ratio"] == found.time.ratio
    assert [one["code"] for one in made["notices"]] == ["W-X", "W-TIMES-UNMATCHED"]
    assert len(made["layers"]) == len(found.layers)
    assert made["layers"][4]["tactic_family"] == "sm80_xmma_gemm"
    assert made["layers"][0]["activation_bytes"] == 1 * 3 * 8 * 8 * (4 + 2)
    assert made["reformats_by_origin"][0]["key"] == "REFORMAT"
    assert made["totals"]["active_layers"] == 3
