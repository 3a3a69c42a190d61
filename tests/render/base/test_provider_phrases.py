import msgspec
import numpy as np

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import replace
from enginescope.judge.samples import Samples
from enginescope.records.plan.build import MadeModel, Preparation
from enginescope.records.progress import Phase
from enginescope.records.run.run import ArenaUse, ProviderShare, Run
from enginescope.render.base import device_phrases
from enginescope.render.page.export import summary_json
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections.measurement import providers
from tests.analysis.runs.test_provider_work import CPU, CUDA, TRT, layer, run_of, share
from tests.render.screen import summary_text


def shared_out() -> Run:
    left = ProviderShare(
        provider=CPU,
        nodes=3,
        subgraphs=3,
        operators={"NonMaxSuppression": 2, "Gather": 1},
        reasons={"Gather": "on shapes"},
    )
    run = run_of(
        [share(TRT, 57, 2, Conv=57), left],
        [layer(0, TRT, 9.9), layer(1, CPU, 0.1)],
        [TRT, CUDA, CPU],
    )
    return replace(run, samples=(times("latency", 2.0),))


def times(metric: str, typical_ms: float) -> Samples:
    spread = np.random.default_rng(1).normal(typical_ms, 0.01, 200)
    return Samples(metric=metric, values_ms=spread, start_ms=np.cumsum(spread))


def placement_line(run: Run) -> str | None:
    return dict(device_phrases.provider_rows(RunView(run))).get("nodes")


def test_placement_in_a_line() -> None:
    assert placement_line(shared_out()) == (
        "TensorRT 57 nodes (95.0 %) in 2 subgraphs, 99.0 % of kernel time; "
        "CPU 3 nodes (5.00 %), 1.00 % of kernel time: NonMaxSuppression ×2, Gather"
    )
    line = placement_line(run_of([share(TRT, 9_999, 1), share(CPU, 1, 1, Shape=1)], (), [TRT, CPU]))
    assert line is not None
    assert "99.99 %" in line
    assert "CPU 1 node (0.0100 %): Shape" in line
    left = share(CPU, 6, 6, A=1, B=1, C=1, D=1, E=1, F=1)
    line = placement_line(run_of([share(TRT, 6, 1), left], (), [TRT, CPU]))
    assert line.endswith("A, B, C, D and 2 more kinds")


def test_an_older_runtime_counts_kernels_and_nothing_is_said_of_the_cpu_alone() -> None:
    run = run_of((), [layer(0, TRT, 3.0), layer(1, CPU, 1.0)], [TRT, CPU])
    assert placement_line(run) == (
        "TensorRT 1 kernel, 75.0 % of kernel time; CPU 1 kernel, 25.0 % of kernel time"
    )
    assert "does not report" in "".join(providers(PageSubject(RunView(run))).notes)
    run = run_of([share(CPU, 9, 9, Conv=9)], (), [CPU])
    assert placement_line(run) is None
    assert providers(PageSubject(RunView(run))) is None


def test_copies_and_cold_starts() -> None:
    run = replace(shared_out(), samples=(times("latency", 2.0), times("device_latency", 1.5)))
    line = device_phrases.device_line(RunView(run))
    assert line.startswith("1.500 ms median without copies, 95 % CI")
    assert line.endswith("the copies take 0.500 ms (25 %)")
    assert device_phrases.device_line(RunView(shared_out())) is None
    assert device_phrases.cold_line(prepared()) == (
        "34.0 s load, 5.00 ms first inference with empty caches; they hold 2 files, 1.00 MiB"
    )
    line = device_phrases.cold_line(prepared(from_cache=True))
    assert line is not None
    assert "measured when the engines were built" in line


def prepared(**more) -> Run:
    made = Preparation(
        key="k",
        model="m.onnx",
        made=(
            MadeModel(
                path="m.fp16.onnx",
                kind="fp16",
                tool="onnxruntime.transformers.float16",
                key="k",
                versions={"onnx": "1.2"},
                made_ms=12.0,
            ),
        ),
        cold=(
            Phase(name="cold_load", duration_ms=34_000.0),
            Phase(name="cold_first_inference", duration_ms=5.0),
        ),
        cache_files=2,
        cache_bytes=1 << 20,
        **more,
    )
    return replace(shared_out(), preparation=made)


def test_facts_and_sections_have_what_was_left_and_why() -> None:
    run = replace(
        prepared(), arenas=(ArenaUse(provider=CUDA, in_use_peak_bytes=1 << 20, held_bytes=1 << 21),)
    )
    facts = dict(device_phrases.provider_facts(RunView(run)))
    assert facts["Model made: fp16"] == ("by onnxruntime.transformers.float16 (onnx 1.2), 12.0 ms")
    assert facts["Memory by CUDA's allocator"] == "1.00 MiB in use at its peak, 2.00 MiB held"
    shares, left = providers(PageSubject(RunView(shared_out()))).tables
    assert [one.title for one in shares.columns][:3] == ["Provider", "Nodes", "Nodes %"]
    columns = {one.title: one.values for one in left.columns}
    assert columns["Operator"] == ("NonMaxSuppression", "Gather")
    assert columns["Why"] == (None, "on shapes")


def test_the_caveat_on_kernel_times() -> None:
    from enginescope.analysis.runs.provider_work import provider_work

    def of(*names: str) -> str | None:
        return device_phrases.caveat(
            provider_work(run_of([share(one, 1, 1) for one in names], (), names))
        )

    assert of(TRT, CPU) is None
    assert "launch" in (of(CUDA, CPU) or "")
    assert "the shares lean to it" in (of(TRT, CUDA) or "")


def test_screen_and_json() -> None:
    view = RunView(prepared())
    text = summary_text(view, width=80)
    assert max(map(len, text.splitlines())) <= 80
    assert "nodes      TensorRT 57 nodes (95.0 %)" in text
    assert "cold       34.0 s load" in text
    (told,) = msgspec.json.decode(summary_json([view]))["runs"]
    assert told["providers"][1]["operators"] == {"NonMaxSuppression": 2, "Gather": 1}
    assert told["preparation"]["cold"][0]["name"] == "cold_load"
