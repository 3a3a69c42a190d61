"""The quantities that are sampled, as a table."""

from __future__ import annotations

from enginescope.core.record import Record


class Metric(Record, frozen=True, kw_only=True):
    """A sampled quantity.

    Attributes:
        tag: Key in files and options.
        title: Heading for people.
        meaning: One sentence.
    """

    tag: str
    title: str
    meaning: str


METRICS: dict[str, Metric] = {
    one.tag: one
    for one in (
        Metric(
            tag="latency",
            title="Latency",
            meaning="One request from call to output, inputs and outputs in host memory; of a load "
            "test, from its intended arrival.",
        ),
        Metric(
            tag="device_latency",
            title="Latency, tensors on the device",
            meaning="One request from call to output, inputs and outputs in device memory.",
        ),
        Metric(
            tag="service",
            title="Service time",
            meaning="Of a load test: one query from its start to its output.",
        ),
        Metric(
            tag="queueing",
            title="Queueing time",
            meaning="Of a load test: from a query's intended arrival to its start.",
        ),
        Metric(
            tag="lateness",
            title="Lateness of the generator",
            meaning="Of a load test: from a query's arrival, or a free worker, to its start.",
        ),
        Metric(
            tag="time_to_first_token",
            title="Time to first token",
            meaning="From the call to the first token: the run on the prompt.",
        ),
        Metric(
            tag="time_per_token",
            title="Time per token",
            meaning="Mean of the further tokens of one request, the choice of each included.",
        ),
        Metric(
            tag="trtexec_latency",
            title="Latency (trtexec)",
            meaning="H2D + GPU compute + D2H durations, summed; queries may overlap.",
        ),
        Metric(
            tag="gpu_compute",
            title="GPU compute time",
            meaning="Between the events around the enqueue, on the GPU's clock.",
        ),
        Metric(tag="enqueue", title="Enqueue time", meaning="Host time of the enqueue call."),
        Metric(tag="h2d", title="H2D latency", meaning="Copy of the inputs to the device."),
        Metric(tag="d2h", title="D2H latency", meaning="Copy of the outputs to the host."),
        Metric(
            tag="end_to_end",
            title="End-to-end host latency",
            meaning="trtexec 8.2 and older: H2D start to D2H end.",
        ),
    )
}
