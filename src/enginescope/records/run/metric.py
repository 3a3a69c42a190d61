"""The quantities that are sampled, as a table."""

from enginescope.core.record import Record


class Metric(Record, frozen=True):
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
            "latency",
            "Latency",
            "One request from call to output, inputs and outputs in host memory; of a load test, "
            "from its intended arrival.",
        ),
        Metric(
            "device_latency",
            "Latency, tensors on the device",
            "One request from call to output, inputs and outputs in device memory.",
        ),
        Metric(
            "service", "Service time", "Of a load test: one query from its start to its output."
        ),
        Metric(
            "queueing",
            "Queueing time",
            "Of a load test: from a query's intended arrival to its start.",
        ),
        Metric(
            "lateness",
            "Lateness of the generator",
            "Of a load test: from a query's arrival, or a free worker, to its start.",
        ),
        Metric(
            "time_to_first_token",
            "Time to first token",
            "From the call to the first token: the run on the prompt.",
        ),
        Metric(
            "time_per_token",
            "Time per token",
            "Mean of the further tokens of one request, the choice of each included.",
        ),
        Metric(
            "trtexec_latency",
            "Latency (trtexec)",
            "H2D + GPU compute + D2H durations, summed; queries may overlap.",
        ),
        Metric(
            "gpu_compute",
            "GPU compute time",
            "Between the events around the enqueue, on the GPU's clock.",
        ),
        Metric("enqueue", "Enqueue time", "Host time of the enqueue call."),
        Metric("h2d", "H2D latency", "Copy of the inputs to the device."),
        Metric("d2h", "D2H latency", "Copy of the outputs to the host."),
        Metric(
            "end_to_end", "End-to-end host latency", "trtexec 8.2 and older: H2D start to D2H end."
        ),
    )
}
