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


@pytest.mark.parametrize(
    ("records", "entry", "others", "newer"),
    [
        (
            *(FLOORS, FLOOR, [{"model": "big.onnx"}, {"environment": ("Epyc", "8", None)}]),
            {"scatter_pct": 0.7},
        ),
        (
            *(SPREADS, SPREAD),
            [
                *({"model": "big.onnx"}, {"options": {"builder_optimization_level": "1"}}),
                *({"timing_cache_sha256": "c" * 64}, {"precision": None}),
            ],
            {"sd": 0.01, "created": "2026-12-01T00:00:00+00:00"},
        ),
    ],
    ids=["floors", "spreads"],
)
def test_a_newer_entry_takes_the_place_of_its_key_and_damage_is_said(
    tmp_path, records, entry, others, newer
) -> None:
    said: list[str] = []
    file = tmp_path / records.file
    assert records.read(tmp_path) == ()
    others = [replace(entry, **changes) for changes in others]
    for one in (entry, *others):
        records.record(tmp_path, one)
    newer = replace(entry, **newer)
    assert records.record(tmp_path, newer) == file
    assert records.usable(tmp_path, said.append) == records.read(tmp_path) == (*others, newer)
    assert said == []
    assert [one for one in tmp_path.iterdir() if not one.name.endswith(".lock")] == [file]
    file.write_text("{")
    with pytest.raises(FormatError, match=records.file):
        records.read(tmp_path)
    assert records.usable(tmp_path, said.append) == ()
    assert said[0].startswith(f"{records.file[:-5].replace('-', ' ')} are skipped: ")
    file.write_text(json.dumps({"schema_version": 99}))
    with pytest.raises(StoreError, match="version 99"):
        records.read(tmp_path)


def test_writers_at_once_lose_nothing(tmp_path) -> None:
    floors = [replace(FLOOR, model=f"{one}.onnx") for one in range(12)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda one: FLOORS.record(tmp_path / "new", one), floors))
    assert {one.model for one in FLOORS.read(tmp_path / "new")} == {one.model for one in floors}
