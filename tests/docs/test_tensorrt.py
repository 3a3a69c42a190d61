"""docs/reference/tensorrt.md names what there is: options, flags, precisions, files."""

import re
from pathlib import Path

import msgspec
import pytest

from enginescope.backends.tensorrt.build.config import ATTRIBUTES, FLAGS
from enginescope.cli.measure.bench import command as bench
from enginescope.cli.measure.bench import mode_options
from enginescope.cli.measure.build import command as build
from enginescope.formats.trtexec.trtexec_flags import OPTIONS, PRECISIONS
from enginescope.records.plan.build import DeviceMemory
from enginescope.records.run.metric import METRICS
from tests.fakes.site import recorded_symbols as recorded

ROOT = Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- begin of the options -->", "<!-- end of the options -->"
MARKED = re.compile(r"`([^`]+)`")


@pytest.fixture(scope="module")
def text() -> str:
    return (ROOT / "docs" / "reference" / "tensorrt.md").read_text(encoding="utf-8")


def rows(text: str) -> dict[str, list[str]]:
    table = text.partition(BEGIN)[2].partition(END)[0]
    cells = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| `")]
    return {first.strip("`"): rest for first, *rest in cells}


def section(text: str, title: str) -> str:
    _, found, after = text.partition(f"\n## {title}\n")
    assert found, title
    return after.partition("\n## ")[0]


def test_the_table_has_every_option_in_order(text) -> None:
    assert list(rows(text)) == list(OPTIONS)


def test_an_option_is_described_as_it_is(text) -> None:
    for key, (values, where, what) in rows(text).items():
        assert where == ("engine" if OPTIONS[key].builds else "run"), key
        assert what, key
        examples = MARKED.findall(values)
        assert examples, key
        for one in examples:
            OPTIONS[key].read(one)  # raises where it is no value of the option


def test_versions_are_those_of_the_recorded_bindings(text) -> None:
    """ "from 10" stands where 8.6 lacks what an option sets, and nowhere else."""
    known = {version: recorded.surface(version) for version in ("8.6.0", "10.16.1")}
    for version, surface in known.items():
        names = {
            **{key: name in surface.enums["BuilderFlag"] for key, name in FLAGS.items()},
            **{key: key in surface.members["IBuilderConfig"] for key in ATTRIBUTES},
        }
        lacking = {key for key, is_there in names.items() if not is_there}
        said = {key for key in names if "from 10" in rows(text)[key][2]}
        assert lacking == (said if version == "8.6.0" else set())


def test_precisions_are_in_the_versions_that_are_named(text) -> None:
    lines = section(text, "Precisions").splitlines()
    table = [line.strip("| ").split(" | ") for line in lines if line.startswith("| `")]
    said = {name: cells for names, *cells in table for name in MARKED.findall(names)}
    assert set(said) == set(PRECISIONS)
    surfaces = [recorded.surface(version) for version in ("8.6.0", "10.16.1", "11.4.0")]
    for name in set(PRECISIONS) - {"best"}:
        has = [name.upper() in surface.enums["BuilderFlag"] for surface in surfaces]
        assert said[name] == ["yes" if one else "no" for one in has]


def test_flags_requests_metrics_and_memory_are_explained(text) -> None:
    flags = {name for one in build.params for name in one.opts if name.startswith("-")}
    assert len(flags) > 20
    assert flags <= set(MARKED.findall(section(text, "Building")))

    def nothing() -> None:
        """Carries the options."""

    names = [one.opts[0] for one in mode_options(nothing).__click_params__]
    assert set(names) <= {name for one in bench.params for name in one.opts}
    explained = {one.split()[0].strip(",") for one in MARKED.findall(section(text, "Modes"))}
    assert set(names) <= explained
    # imported; of ONNX Runtime's providers; of load tests
    elsewhere = {"end_to_end", "device_latency", "queueing", "service", "lateness"}
    assert set(METRICS) - elsewhere <= set(MARKED.findall(section(text, "Modes")))
    fields = {one.name for one in msgspec.structs.fields(DeviceMemory)}
    assert fields <= set(MARKED.findall(section(text, "Device memory")))


def test_documentation_and_messages_name_the_same_extra() -> None:
    install = re.compile(r"pip install tensorrt\S* '?enginescope\[(\w+)\]")
    places = (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py"))
    named = [found for path in places for found in install.findall(path.read_text("utf-8"))]
    assert set(named) <= {"trt", "cu12"}
    assert named.count("trt") > 2
