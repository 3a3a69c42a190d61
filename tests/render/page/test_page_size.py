"""What a page holds of its own, without the scripts and styles of all pages, against its data."""

import json
import re
from pathlib import Path

from benchmarks.explore import synthetic_plans

import enginescope as es

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
