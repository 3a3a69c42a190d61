from enginescope.core.record import replace
from enginescope.records.environment import ClockLock, Device, Environment, Host
from enginescope.records.run.job import (
    BackendSpec,
    Conditions,
    InputShape,
    Job,
    Mode,
    Subject,
    Workload,
)
from enginescope.records.run.run import Run
from enginescope.records.run.telemetry import CpuLoss
from enginescope.records.tensor import DataType, Layout, Tensor
from enginescope.render.base.facts import (
    backend_text,
    device_text,
    inputs_text,
    machine_facts,
    method_facts,
    mode_text,
    phase_facts,
    place_line,
    shape_text,
    subject_line,
    tensor_text,
)
from tests.render.runs import imported_run, measured_run

BARE = Run(
    id="1",
    created="2025-11-21T09:40:12Z",
    origin="imported",
    job=Job(subject=Subject(name="x"), backend=BackendSpec(name="trtexec")),
)


def test_backends_shapes_tensors_and_devices() -> None:
    spec = BackendSpec(name="trt", precision="fp16", options={"a": "1", "b": "2"})
    assert backend_text(spec) == "trt fp16?a=1&b=2"
    assert shape_text((1, None, 3)) == "1×?×3"
    assert shape_text(()) == "scalar"
    assert shape_text(None) == "shape not known"
    layout = Layout(name="NHWC8", text="Channel major FP16 format")
    tensor = Tensor(name="x", shape=(1, 8), dtype=DataType.FP16, layout=layout)
    assert tensor_text(tensor) == "x 1×8 FP16 NHWC8"
    device = Device(
        name="H200", compute_capability="9.0", memory_bytes=1 << 30, sm_count=132, driver="550"
    )
    assert device_text(device) == (
        "H200 · compute capability 9.0 · 132 SMs · 1.00 GiB · driver 550"
    )


def test_inputs_and_places_have_names() -> None:
    inputs = tuple(Tensor(name=name, shape=(1,)) for name in "abcd")
    assert inputs_text(measured_run(inputs=inputs)) == "a 1, b 1, c 1, …"
    workload = Workload(shapes=(InputShape(name="x", dims=(2, 3)),))
    job = Job(subject=Subject(name="m"), backend=BackendSpec(name="b"), workload=workload)
    assert subject_line(measured_run(job=job, inputs=())) == "m · b · 2×3"
    assert place_line(imported_run()) == "NVIDIA H200"
    assert place_line(measured_run()) == "AMD EPYC, 2 cores"
    assert place_line(BARE) is None
    environment = Environment(host=Host(cpu_model="c", cores_logical=1))
    assert place_line(measured_run(environment=environment)) == "c, 1 core"


def test_what_is_known_is_shown_and_the_rest_is_left_out() -> None:
    assert machine_facts(BARE) == ()
    assert phase_facts(BARE) == ()
    assert dict(method_facts(BARE)) == {
        "Subject": "x",
        "Backend": "trtexec",
        "Requests": "1 in flight",
        "Made": "2025-11-21 09:40:12 UTC (imported)",
        "Run": "1",
    }
    facts = dict(method_facts(measured_run()))
    assert facts["Providers"] == "CPUExecutionProvider"
    assert facts["Node placement"] == "CPUExecutionProvider: 60 nodes in 1 subgraphs"
    assert facts["Seed of the feeds"] == "0"
    assert facts["Version of onnxruntime"] == "1.31.1"
    machine = dict(machine_facts(measured_run()))
    assert machine["Other load"] == "0.80 cores busy with other work"
    assert machine["Variable"] == "OMP_NUM_THREADS=2"


def test_what_the_machine_was_made_to_do_and_withheld_is_shown() -> None:
    lock = ClockLock(sm_mhz=1305, memory_mhz=3201)
    environment = Environment(
        host=Host(boost=False, smt=True), devices=(Device(name="H200", clock_lock=lock),)
    )
    job = replace(BARE.job, conditions=Conditions(pinned_cores=(0, 2)))
    loss = CpuLoss(steal_pct=1.25, throttled_periods=3, periods=40)
    run = replace(BARE, job=job, environment=environment, cpu_loss=loss)
    assert dict(machine_facts(run)) == {
        "CPU boost": "off",
        "Threads of a core": "two (SMT)",
        "Pinned to": "cores 0, 2",
        "Time stolen": "1.2 % of the processor time",
        "Stopped by quota": "3 of 40 periods",
        "GPU": "H200 · clocks locked: SM 1,305 MHz, memory 3,201 MHz",
    }
    assert place_line(run) == "H200 at SM 1,305 MHz, memory 3,201 MHz"


def test_mode_and_commands() -> None:
    mode = Mode(in_flight=None, transfers=False, cuda_graph=True, spin_wait=False, streams=2)
    assert mode_text(mode) == "2 streams, without host-device copies, CUDA graph, blocking wait"
    assert mode_text(Mode(in_flight=None)) is None
    assert mode_text(Mode(in_flight=None, streams=1)) == "1 stream"
    run = replace(BARE, command="trtexec --onnx=x.onnx\ntrtexec --loadEngine=x")
    commands = [text for name, text in method_facts(run) if name == "Command"]
    assert commands == ["trtexec --onnx=x.onnx", "trtexec --loadEngine=x"]
