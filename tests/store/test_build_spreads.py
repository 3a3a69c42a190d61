from enginescope.core.record import replace
from enginescope.store.machine_records import SPREADS
from tests.analysis.verdicts.test_build_spread import SPREAD


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
