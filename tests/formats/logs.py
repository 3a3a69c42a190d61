"""Pieces of trtexec logs, after the documented grammar."""

PREFIX = "[03/14/2025-09:26:53] [I] "

OPTIONS_10 = """\
&&&& RUNNING TensorRT.trtexec [TensorRT v101600] [b48] # trtexec --onnx=net.onnx
=== Model Options ===
Format: ONNX
Model: C:\\models\\net.onnx
Output:
=== Build Options ===
Memory Pools: workspace: default, dlaSRAM: default
Precision: FP32+FP16
Save engine: net.plan
Load engine:
Input build shape (profile 0): a=1x3+1x3+1x3
Input build shape (profile 0): b=1+1+1

=== Inference Options ===
Batch: Explicit
Input inference shape : a=1x3
Duration: 3s (+ 200ms warm up)
Inference Streams: 2
Data transfers: Disabled
Spin-wait: Enabled
CUDA Graph: Enabled
Inputs:
a<-a.bin
b<-b.bin

=== Device Information ===
Available Devices:
  Device 0: "NVIDIA RTX" UUID: GPU-1:2
Selected Device: NVIDIA RTX
Selected Device ID: 0
Selected Device UUID: GPU-1:2
Compute Capability: 8.6
SMs: 30
Device Global Memory: 5937 MiB

TensorRT version: 10.16.0
Created engine with size: 12.5 MiB
Engine built in 12.34 sec.
Loaded engine with size: 13 MiB
Engine deserialized in 0.5 sec.
Created execution context with device memory size: 1.5 MiB
Finished parsing network model. Parse time: 0.25
"""

SUMMARY = """\
=== Performance summary ===
Throughput: 1234.5 qps
Latency: min = 0.8 ms, max = 1.25 ms, mean = 0.81 ms, \
median = 0.805 ms, percentile(90%) = 0.9 ms, percentile(99.9%) = 1.2e-05 ms
Enqueue Time: min = 0.1 ms, max = inf ms, mean = nan ms, median = 0.1 ms, percentile(99%) = 0.2 ms
End-to-End Host Latency: min = 1 ms, max = 2 ms, mean = 1.5 ms, \
median = 1.5 ms, percentile(99%) = 2 ms
Total Host Walltime: 3.00097 s
Total GPU Compute Time: 2.9 s

"""

PROFILE = """\
=== Profile (120 iterations ) ===
   Time(ms)     Avg.(ms)   Median(ms)   Time(%)   Layer
      12.00       0.1000       0.0900      75.0   conv + relu 3 4
       4.00       0.0333       0.0300      25.0   Total
      16.00       0.1333       0.1200     100.0   Total

"""

PASSED = "&&&& PASSED TensorRT.trtexec [TensorRT v101600] [b48] # trtexec --onnx=net.onnx\n"


def prefixed(text: str) -> str:
    lines = text.splitlines()
    return "\n".join(one if one.startswith("&&&&") else PREFIX + one for one in lines) + "\n"
