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


_ROWS = (
    (
        "latency",
        "Latency",
        (
            "One request from call to output, inputs and outputs in host memory; of a load test, "
            "from its intended arrival."
        ),
    ),
    (
        "device_latency",
        "Latency, tensors on the device",
        "One request from call to output, inputs and outputs in device memory.",
    ),
    ("service", "Service time", "Of a load test: one query from its start to its output."),
    ("queueing", "Queueing time", "Of a load test: from a query's intended arrival to its start."),
    (
        "lateness",
        "Lateness of the generator",
        "Of a load test: from a query's arrival, or a free worker, to its start.",
    ),
    (
        "time_to_first_token",
        "Time to first token",
        "From the call to the first token: the run on the prompt.",
    ),
    (
        "time_per_token",
        "Time per token",
        "Mean of the further tokens of one request, the choice of each included.",
    ),
    (
        "trtexec_latency",
        "Latency (trtexec)",
        "H2D + GPU compute + D2H durations, summed; queries may overlap.",
    ),
    (
        "gpu_compute",
        "GPU compute time",
        "Between the events around the enqueue, on the GPU's clock.",
    ),
    ("enqueue", "Enqueue time", "Host time of the enqueue call."),
    ("h2d", "H2D latency", "Copy of the inputs to the device."),
    ("d2h", "D2H latency", "Copy of the outputs to the host."),
    ("end_to_end", "End-to-end host latency", "trtexec 8.2 and older: H2D start to D2H end."),
)
METRICS: dict[str, Metric] = {row[0]: Metric(*row) for row in _ROWS}
