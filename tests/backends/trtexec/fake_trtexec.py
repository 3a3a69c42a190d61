"""A trtexec without a GPU: checks its flags as the version does, and writes log and exports.

Started as ``python fake_trtexec.py …`` by the script that the tests put where trtexec is looked
for. FAKE_TRTEXEC_VERSION: 8.6.1, 10.16.0, 11.1.0 …; FAKE_TRTEXEC_FAULT: see `FAULTS`;
FAKE_TRTEXEC_KEEP: a folder that gets the arguments and the inputs as they were read.
"""

import json
import math
import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from known_flags import taken_by

FAULTS = """
    loader no_version help_without_version hang fails fails_with_0 silent segv no_times
    damaged_times garbage_times empty_times no_profile damaged_profile no_plan damaged_plan
    graph_refused says_no_spin oom cut_log says_nothing_of_errors
"""
REPEATABLE = {"staticPlugins", "dynamicPlugins", "setPluginsToSerialize", "plugins", "profile"}
REPEATABLE |= {"minShapes", "optShapes", "maxShapes"}
COMPUTE_MS, COPY_MS = 0.25, 0.015625
MOST_QUERIES = 3_000


def main(arguments: list[str]) -> int:
    number = tuple(int(part) for part in os.environ.get("FAKE_TRTEXEC_VERSION", "8.6.1").split("."))
    fault = os.environ.get("FAKE_TRTEXEC_FAULT", "")
    assert fault in ("", *FAULTS.split()), fault
    if fault == "loader":
        print("trtexec: error while loading shared libraries: libnvinfer.so.8: cannot open")
        return 127
    if fault == "hang":
        time.sleep(600)
    tool = Trtexec(number, fault)
    if not (fault == "help_without_version" and "--help" in arguments):
        tool.status("RUNNING", arguments)
    if "--help" in arguments:
        print("=== Model Options ===\n  --onnx=<file>               ONNX model")
        return 0
    keep(arguments)
    if fault == "segv":
        tool.say("Starting inference")
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGSEGV)
    passed = tool.run(arguments)
    if fault != "cut_log":
        tool.status("PASSED" if passed else "FAILED", arguments)
    return 0 if passed or fault == "fails_with_0" else 1


def keep(arguments: list[str]) -> None:
    folder = os.environ.get("FAKE_TRTEXEC_KEEP")
    if folder is None:
        return
    (Path(folder) / "arguments.json").write_text(json.dumps(arguments))
    given = next((one for one in arguments if one.startswith("--loadInputs=")), None)
    for one in given.partition("=")[2].split(",") if given else ():
        name, _, file = one.rpartition(":")
        (Path(folder) / f"{name.replace('/', '_')}.raw").write_bytes(Path(file).read_bytes())


class Trtexec:
    def __init__(self, version: tuple[int, ...], fault: str) -> None:
        self.version = version
        self.fault = fault
        self.modern = version >= (11, 0)

    # ---- what it says

    def say(self, text: str, level: str = "I") -> None:
        stream = sys.stdout if level in "IV" else sys.stderr
        print(f"[11/21/2026-07:26:41] [{level}] {text}", file=stream, flush=True)

    def status(self, word: str, arguments: list[str]) -> None:
        if self.fault == "no_version":
            return
        major, minor, patch = self.version
        digits = f"{major}{minor:02}{patch:02}" if major >= 10 else f"{major}{minor}{patch:02}"
        build = " [b48]" if major >= 10 else ""
        line = f"&&&& {word} TensorRT.trtexec [TensorRT v{digits}]{build} # trtexec"
        print(line, *arguments, flush=True)

    # ---- what it does

    def run(self, arguments: list[str]) -> bool:
        if self.fault == "silent":
            return True
        if not self.parse(arguments):
            return False
        self.options()
        if self.fault in ("fails", "fails_with_0"):
            for text in (
                *("Error[4]: [network.cpp::validate::3015] Error Code 4: no outputs",),
                *("Engine could not be created from network", "Building engine failed"),
            ):
                self.say(text, "E")
            return False
        if self.fault == "says_nothing_of_errors":
            print("terminate called after throwing an instance of 'std::bad_alloc'")
            return False
        if self.fault == "oom":
            self.say("[TRT] 1: [memory.cpp] Error Code 1: Cuda Runtime (out of memory)", "E")
            return False
        self.build()
        self.measure()
        return True

    def parse(self, arguments: list[str]) -> bool:
        self.values: dict[str, str] = {}
        known = taken_by(self.version[:2])
        for one in arguments:
            name, _, value = one[2:].partition("=")
            if not one.startswith("--") or name not in known:
                self.say(f"Unknown option: --{name} {value}", "E")
                return False
            if name in self.values and name not in REPEATABLE:
                self.say(f"Option --{name} given twice", "E")
                return False
            self.values[name] = value
        model = self.values.get("onnx") or self.values.get("loadEngine")
        if model is None or not Path(model).is_file():
            self.say(f"Could not open file {model}", "E")
            return False
        return True

    def has(self, name: str) -> bool:
        return name in self.values

    def options(self) -> None:
        values = self.values
        modern = self.modern
        self.graph = not self.has("noCudaGraph") if modern else self.has("useCudaGraph")
        self.spin = not self.has("noSpinWait") if modern else self.has("useSpinWait")
        self.transfers = (
            self.has("includeDataTransfers") if modern else not self.has("noDataTransfers")
        )
        self.streams = int(values.get("infStreams", "1"))
        self.iterations = int(values.get("iterations", "10"))
        self.warm_up_ms = float(values.get("warmUp", "200"))
        self.duration_s = float(values.get("duration", "3"))
        if self.fault == "says_no_spin":
            self.spin = False
        yes = {True: "Enabled", False: "Disabled"}
        precision = "+".join(["FP32", *(p.upper() for p in ("fp16", "int8") if self.has(p))])
        lines = [
            "=== Model Options ===",
            f"Model: {values.get('onnx', '')}",
            "=== Build Options ===",
            f"Precision: {'Strongly Typed' if modern else precision}",
            f"Load engine: {values.get('loadEngine', '')}",
            "",
            "=== Inference Options ===",
            f"Batch: {'Explicit' if self.version >= (9, 0) else '1'}",
            f"Iterations: {self.iterations}",
            f"Duration: {self.duration_s:g}s (+ {self.warm_up_ms:g}ms warm up)",
            f"Idle time: {float(values.get('idleTime', '0')):g}ms",
            f"Inference Streams: {self.streams}",
            f"ExposeDMA: {yes[self.has('exposeDMA')]}",
            f"Data transfers: {yes[self.transfers]}",
            f"Spin-wait: {yes[self.spin]}",
            f"CUDA Graph: {yes[self.graph]}",
            "",
            "=== Device Information ===",
            "Selected Device: NVIDIA H200",
            "Compute Capability: 9.0",
            "SMs: 132",
            "Device Global Memory: 143155 MiB",
            "",
            f"TensorRT version: {'.'.join(str(part) for part in self.version)}",
        ]
        for line in lines:
            self.say(line)

    def build(self) -> None:
        if self.has("onnx"):
            self.say("Start parsing network model.")
            self.say("Finished parsing network model. Parse time: 0.25")
            self.say("Engine built in 2.25 sec.")
        else:
            self.say("Engine loaded in 0.025 sec.")
        self.say("Engine deserialized in 0.015 sec.")
        if self.version >= (9, 3):
            self.say("Created execution context with device memory size: 1.5 MiB")
        kind = " and type fp32" if self.version >= (9, 0) else ""
        self.say(f"Input binding for image with dimensions 2x3x8x8{kind} is created.")
        self.say(f"Output binding for scores with dimensions 2x10{kind} is created.")
        self.say(
            "Output binding for found is dynamic and will be created during execution using "
            "OutputAllocator."
        )
        if self.graph and self.fault == "graph_refused":
            self.say("The CUDA graph capture on the stream has failed.", "W")

    def measure(self) -> None:
        self.say("Starting inference")
        rounds = max(self.iterations, math.ceil(1e3 * self.duration_s / (COMPUTE_MS + 0.01)))
        count = min(rounds * self.streams, MOST_QUERIES)
        copies = COPY_MS if self.transfers else 0.0
        records = [self.query(index, copies) for index in range(count)]
        wall_ms = records[-1]["endD2hMs"] - records[0]["startH2dMs"]
        if os.environ.get("FAKE_TRTEXEC_TAKES_TIME"):
            time.sleep((self.warm_up_ms + wall_ms) / 1e3)
        self.say(f"Warmup completed 31 queries over {self.warm_up_ms:g} ms")
        self.say(f"Timing trace has {count} queries over {wall_ms / 1e3:.6g} s")
        self.say("=== Performance summary ===")
        self.say(f"Throughput: {1e3 * count / wall_ms:.6g} qps")
        for title, key in (("Latency", "latencyMs"), ("GPU Compute Time", "computeMs")):
            self.say(f"{title}: {statistics([one[key] for one in records])}")
        self.say(f"Total Host Walltime: {wall_ms / 1e3:.6g} s")
        self.say("")
        self.export("exportTimes", records_text(records), "times")
        self.export("exportLayerInfo", json.dumps(self.plan()), "plan")
        if self.has("exportProfile") or self.has("dumpProfile"):
            assert self.modern or self.has("separateProfileRun")
            self.profile()

    def query(self, index: int, copies: float) -> dict[str, float]:
        start = self.warm_up_ms + 0.27 * index
        compute = COMPUTE_MS + 0.0009765625 * (index % 7)
        ends = {"Enq": (start - 0.02, start - 0.01), "H2d": (start, start + copies)}
        ends["Compute"] = (start + copies, start + copies + compute)
        ends["D2h"] = (start + copies + compute, start + 2 * copies + compute)
        stamps = {}
        for part, (begin, end) in ends.items():
            stamps |= {f"start{part}Ms": begin, f"end{part}Ms": end}
        lengths = {"h2dMs": copies, "computeMs": compute, "d2hMs": copies}
        return {**stamps, **lengths, "latencyMs": 2 * copies + compute}

    def plan(self) -> dict[str, object]:
        layers = ["conv", "head"]
        if self.values.get("profilingVerbosity") != "detailed":
            return {"Layers": layers, "Bindings": ["image", "scores"]}
        form = {"Format": "Row major linear", "Datatype": "FP32"}
        if not self.modern:
            form = {"Format/Datatype": "Row major linear FP32"}
        dims = {"image": [2, 3, 8, 8], "t": [2, 8], "scores": [2, 10]}
        first, middle, last = ({"Name": key, "Dimensions": dims[key], **form} for key in dims)
        sides = [(first, middle), (middle, last)]
        detailed = [
            {"Name": name, "LayerType": kind, "Inputs": [a], "Outputs": [b]}
            for name, kind, (a, b) in zip(layers, ("CaskConvolution", "Gemm"), sides, strict=True)
        ]
        if not self.modern:
            return {"Layers": detailed, "Bindings": ["image", "scores"]}
        io = [
            {"Name": name, "IOMode": mode, "DataType": "FP32", "Dimensions": dims[name]}
            for name, mode in (("image", "Input"), ("scores", "Output"))
        ]
        return {"Layers": detailed, "I/O Tensors": io}

    def profile(self) -> None:
        rows = [("conv", 20.0, 0.2, 80.0), ("head", 5.0, 0.05, 20.0)]
        text = '[\n  { "count" : 100 }\n' + "".join(
            f', {{ "name" : "{name}", "timeMs" : {total:g}, "averageMs" : {mean:g}, '
            f'"medianMs" : {mean:g}, "percentage" : {share:g} }}\n'
            for name, total, mean, share in rows
        )
        self.export("exportProfile", text + "]\n", "profile")
        self.say("=== Profile (100 iterations ) ===")
        self.say("   Time(ms)     Avg.(ms)   Median(ms)   Time(%)   Layer")
        for name, total, mean, share in (*rows, ("Total", 25.0, 0.25, 100.0)):
            self.say(f"{total:11.2f}{mean:13.4f}{mean:13.4f}{share:10.1f}   {name}")

    def export(self, flag: str, text: str, what: str) -> None:
        if flag not in self.values or self.fault == f"no_{what}":
            return
        half = text[: len(text) // 2]
        faults = {"damaged_times": half, "garbage_times": "no JSON at all", "empty_times": "[\n]\n"}
        faults |= {"damaged_profile": "{", "damaged_plan": "null"}
        if self.fault.endswith(f"_{what}"):
            text = faults.get(self.fault, text)
        Path(self.values[flag]).write_text(text)


def records_text(records: list[dict[str, float]]) -> str:
    rows = (
        "{ " + ", ".join(f'"{key}" : {value:.6g}' for key, value in one.items()) + " }"
        for one in records
    )
    return "[\n  " + "\n, ".join(rows) + "\n]\n"


def statistics(values: list[float]) -> str:
    ordered = sorted(values)
    n = len(ordered)
    median = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    found = [("min", ordered[0]), ("max", ordered[-1]), ("mean", sum(ordered) / n)]
    found.append(("median", median))
    for p in (90, 95, 99):
        found.append((f"percentile({p}%)", ordered[max(n - 1 - int((1 - p / 100) * n), 0)]))
    return ", ".join(f"{name} = {value:.6g} ms" for name, value in found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
