import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from enginescope.core.errors import FormatError, StoreError
from enginescope.core.record import replace
from enginescope.records.verdict.noise import Decidable, NoiseFloor
from enginescope.store.machine_records import FLOORS, SPREADS
from tests.analysis.verdicts.test_build_spread import SPREAD

FLOOR = NoiseFloor(
    environment=("Xeon", "2", None),
    backend="ort-cpu",
    model="net.onnx",
    created="2026-01-01T00:00:00+00:00",
    comparison="0a1b2c3d",
    rounds=20,
    round_s=3.5,
    scatter_pct=1.5,
    decidable=(Decidable(duration_s=20, rounds=5, difference_pct=None),),
)


def test_a_newer_one_takes_the_place_and_damage_is_said(tmp_path) -> None:
    assert FLOORS.read(tmp_path) == ()
    others = [replace(FLOOR, model="big.onnx"), replace(FLOOR, environment=("Epyc", "8", None))]
    for one in (FLOOR, *others):
        FLOORS.record(tmp_path, one)
    newer = replace(FLOOR, scatter_pct=0.7)
    assert FLOORS.record(tmp_path, newer) == tmp_path / FLOORS.file
    assert FLOORS.read(tmp_path) == (*others, newer)
    assert [one.name for one in tmp_path.iterdir() if not one.name.endswith(".lock")] == [
        FLOORS.file
    ]
    (tmp_path / FLOORS.file).write_text("{")
    with pytest.raises(FormatError, match=FLOORS.file):
        FLOORS.read(tmp_path)
    (tmp_path / FLOORS.file).write_text(json.dumps({"schema_version": 99, "floors": []}))
    with pytest.raises(StoreError, match="version 99"):
        FLOORS.read(tmp_path)


def test_writers_at_once_lose_nothing(tmp_path) -> None:
    floors = [replace(FLOOR, model=f"{one}.onnx") for one in range(12)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda one: FLOORS.record(tmp_path / "new", one), floors))
    assert {one.model for one in FLOORS.read(tmp_path / "new")} == {one.model for one in floors}


def test_a_newer_one_takes_the_place_of_the_older_of_the_same(tmp_path) -> None:
    others = [
        replace(SPREAD, model="big.onnx"),
        replace(SPREAD, options={"builder_optimization_level": "1"}),
        replace(SPREAD, timing_cache_sha256="c" * 64),
        replace(SPREAD, precision=None),
    ]
    for one in (SPREAD, *others):
        SPREADS.record(tmp_path, one)
    newer = replace(SPREAD, sd=0.01, created="2026-12-01T00:00:00+00:00")
    assert SPREADS.record(tmp_path, newer) == tmp_path / SPREADS.file
    said: list[str] = []
    assert SPREADS.usable(tmp_path, said.append) == (*others, newer)
    assert said == []
    (tmp_path / SPREADS.file).write_text("{")
    said: list[str] = []
    assert SPREADS.usable(tmp_path, said.append) == ()
    assert said[0].startswith("build spreads are skipped: ")
